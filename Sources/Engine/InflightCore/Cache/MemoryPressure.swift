internal import Glibc
internal import InflightConcurrency

/// The level of memory pressure.
enum MemoryPressure: Sendable, Hashable {
    /// Some work waits for memory.
    case some
    /// No work makes progress, for lack of memory.
    case full

    /// The divisor of a cache's limit at this level.
    var divisor: Int { self == .some ? 2 : 8 }
}

/// Notifies subscribers when the kernel reports that memory is short. One thread serves all of them. It exists only
/// while there are subscribers, and only if the kernel allows watching.
final class MemoryPressureMonitor: Sendable {
    static let shared = MemoryPressureMonitor(open: MemoryPressureTriggers.openAll)

    private struct State: Sendable {
        var subscribers: [Int: @Sendable (MemoryPressure) -> Void] = [:]
        var nextIdentifier = 0
        var watch: MemoryPressureWatch?
        /// Whether opening has failed. Tried once: if the kernel does not offer it now, it will not later.
        var isUnavailable = false
    }

    private let state = Guarded(State())
    private let open: @Sendable () -> [MemoryPressureTriggers.Trigger]

    /// - Parameter open: returns descriptors to be polled for urgent data (`POLLPRI`), which signals that memory is
    ///   short. The monitor closes them.
    init(open: @escaping @Sendable () -> [MemoryPressureTriggers.Trigger]) {
        self.open = open
    }

    /// Calls `body` on the monitor's thread until the subscription is released. `body` must not block.
    func subscribe(_ body: @escaping @Sendable (MemoryPressure) -> Void) -> Subscription {
        let identifier = state.withLock { state in
            state.nextIdentifier += 1
            state.subscribers[state.nextIdentifier] = body
            if state.watch == nil, !state.isUnavailable {
                // The watch retains the subscribers, not the monitor, so it can be released with the last of them.
                state.watch = MemoryPressureWatch(triggers: open()) { [subscribers = self.state] pressure in
                    Self.report(pressure, to: subscribers)
                }
                state.isUnavailable = state.watch == nil
            }
            return state.nextIdentifier
        }
        return Subscription(monitor: self, identifier: identifier)
    }

    /// Whether a thread watches the kernel's reports.
    var isWatching: Bool { state.withLock { $0.watch != nil } }

    private static func report(_ pressure: MemoryPressure, to state: Guarded<State>) {
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for body in subscribers { body(pressure) }
    }

    private func unsubscribe(_ identifier: Int) {
        // Both are released after the lock, because a closure may retain anything.
        let released = state.withLock { state in
            let body = state.subscribers.removeValue(forKey: identifier)
            guard state.subscribers.isEmpty else { return (body, nil as MemoryPressureWatch?) }
            defer { state.watch = nil }
            return (body, state.watch)
        }
        released.1?.stop()
    }

    /// A subscription that ends when it is released. A call that is running then may still finish.
    final class Subscription: Sendable {
        private let monitor: MemoryPressureMonitor
        private let identifier: Int

        fileprivate init(monitor: MemoryPressureMonitor, identifier: Int) {
            self.monitor = monitor
            self.identifier = identifier
        }

        deinit {
            monitor.unsubscribe(identifier)
        }
    }
}

/// A thread that waits for triggers to report until it is stopped.
final class MemoryPressureWatch: Sendable {
    private let stopDescriptor: Int32
    private let thread = WorkerThreads(count: 1, name: "inflight-memory")

    /// Returns nil if there is nothing to watch, or no file descriptor is left.
    init?(triggers: [MemoryPressureTriggers.Trigger], report: @escaping @Sendable (MemoryPressure) -> Void) {
        guard !triggers.isEmpty else { return nil }
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let status = unsafe socketpair(AF_UNIX, kind, 0, &ends)
        guard status == 0 else {
            for trigger in triggers { close(trigger.descriptor) }
            return nil
        }
        stopDescriptor = ends[1]
        thread.run { [end = ends[0]] in Self.watch(triggers, end, report) }
    }

    /// Makes the thread end soon. Must be called once.
    func stop() {
        close(stopDescriptor)
    }

    /// Reports what happens to the triggers until the other end of `stopDescriptor` is closed. Closes all of them.
    private static func watch(
        _ triggers: [MemoryPressureTriggers.Trigger], _ stopDescriptor: Int32, _ report: (MemoryPressure) -> Void
    ) {
        defer { for descriptor in triggers.map(\.descriptor) + [stopDescriptor] { close(descriptor) } }
        // The thread must not run the program's signal handlers.
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
        var polled = triggers.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
        polled.append(pollfd(fd: stopDescriptor, events: Int16(POLLIN), revents: 0))
        while true {
            let count = unsafe poll(&polled, nfds_t(polled.count), -1)
            if count < 0 {
                if errno == EINTR { continue }
                return
            }
            // Closing the other end signals the stop.
            if polled[triggers.count].revents != 0 { return }
            for (position, trigger) in triggers.enumerated() {
                let events = Int32(polled[position].revents)
                if events & (POLLERR | POLLHUP | POLLNVAL) != 0 {
                    // The control group is gone. `poll` ignores a negative descriptor.
                    polled[position].fd = -1
                } else if events & POLLPRI != 0 {
                    report(trigger.pressure)
                }
            }
        }
    }
}

/// Descriptors through which Linux reports memory pressure.
///
/// Source: the kernel's `Documentation/accounting/psi.rst`.
enum MemoryPressureTriggers {
    struct Trigger: Sendable {
        var descriptor: Int32
        var pressure: MemoryPressure
    }

    /// Opens those of the control group, or of the machine if that is not possible. Empty if the kernel has none.
    static func openAll() -> [Trigger] {
        for path in [ControlGroup.current.pressureFile, "/proc/pressure/memory"].compactMap(\.self) {
            // In microseconds. Without privileges the window has to be a multiple of two seconds.
            let triggers = [
                arm(path, "some 200000 2000000", .some), arm(path, "full 100000 2000000", .full),
            ]
            let opened = triggers.compactMap(\.self)
            if !opened.isEmpty { return opened }
        }
        return []
    }

    private static func arm(_ path: String, _ condition: String, _ pressure: MemoryPressure) -> Trigger? {
        let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        // The kernel expects the terminating zero too.
        let bytes = Array(condition.utf8CString)
        guard unsafe write(descriptor, bytes, bytes.count) >= 0 else {
            close(descriptor)
            return nil
        }
        return Trigger(descriptor: descriptor, pressure: pressure)
    }
}

/// The memory settings of this process's Linux control group. On other systems there is none.
///
/// Source: the kernel's `cgroup-v2.rst`, `cgroup-v1/memory.rst`, `proc_pid_mountinfo(5)`.
struct ControlGroup: Sendable {
    /// The lowest limit of the group and its ancestors, in bytes; nil if there is none.
    let memoryLimit: Int?
    /// The file for watching the group's memory stalls, if the group is of version 2.
    let pressureFile: String?

    /// The control group of this process, determined once.
    static let current = ControlGroup { SystemFile.read($0, limit: 1 << 20) }

    /// - Parameter read: returns the text of a file, or nil if it cannot be read.
    init(read: (String) -> String?) {
        guard let groups = read("/proc/self/cgroup"), let mounts = read("/proc/self/mountinfo") else {
            self.init(memoryLimit: nil, pressureFile: nil)
            return
        }
        var limits: [Int] = []
        var pressureFile: String?
        for mount in Self.mounts(in: mounts) {
            guard let path = Self.path(in: groups, version: mount.version),
                let directory = mount.directory(of: path)
            else { continue }
            let (file, root) = (mount.version == .two ? "memory.max" : "memory.limit_in_bytes", mount.point)
            limits += Self.ancestors(of: directory, upTo: root).compactMap { directory in
                // `max`, and everything else that is not a number, means no limit.
                read("\(directory)/\(file)").flatMap { Int($0.prefix { !$0.isWhitespace }) }
            }
            if mount.version == .two { pressureFile = "\(directory)/memory.pressure" }
        }
        self.init(memoryLimit: limits.filter { $0 > 0 }.min(), pressureFile: pressureFile)
    }

    private init(memoryLimit: Int?, pressureFile: String?) {
        self.memoryLimit = memoryLimit
        self.pressureFile = pressureFile
    }

    private enum Version {
        case one, two
    }

    private struct Mount {
        var version: Version
        /// The mounted group, and the mount point.
        var root: Substring
        var point: Substring

        /// Returns the folder with the files of the group at `path`, or nil if it is not below this mount.
        func directory(of path: Substring) -> String? {
            // A group above the namespace's root is not visible.
            guard !path.hasPrefix("/..") else { return nil }
            if root == "/" { return path == "/" ? String(point) : "\(point)\(path)" }
            guard path.hasPrefix(root) else { return nil }
            let rest = path.dropFirst(root.count)
            return rest.isEmpty || rest.hasPrefix("/") ? "\(point)\(rest)" : nil
        }
    }

    /// Parses lines such as `36 35 98:0 /root /point rw,noatime shared:1 - cgroup2 cgroup2 rw`.
    private static func mounts(in text: String) -> [Mount] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            // A backslash begins an escaped character. No control group is mounted at such a path.
            guard fields.count > 4, let dash = fields.firstIndex(of: "-"), dash + 3 < fields.count,
                !line.contains("\\")
            else { return nil }
            let version: Version
            switch fields[dash + 1] {
            case "cgroup2": version = .two
            case "cgroup" where fields[dash + 3].split(separator: ",").contains("memory"): version = .one
            default: return nil
            }
            return Mount(version: version, root: fields[3], point: fields[4])
        }
    }

    /// Returns the path in lines such as `4:memory:/path` (version 1) and `0::/path` (version 2).
    private static func path(in text: String, version: Version) -> Substring? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2].hasPrefix("/") else { continue }
            switch version {
            case .one where fields[1].split(separator: ",").contains("memory"): return fields[2]
            case .two where fields[0] == "0" && fields[1].isEmpty: return fields[2]
            default: continue
            }
        }
        return nil
    }

    /// Returns `directory` and its ancestors up to `root`, at most 64 in all.
    private static func ancestors(of directory: String, upTo root: Substring) -> [String] {
        var result: [String] = []
        var directory = directory[...]
        while result.count < 64 {
            result.append(String(directory))
            guard directory.count > root.count, let slash = directory.lastIndex(of: "/") else { break }
            directory = directory[..<slash]
        }
        return result
    }
}

/// Reads files in which the kernel publishes information.
enum SystemFile {
    /// Returns the text of the file at `path`, at most `limit` bytes, or nil if it cannot be read.
    static func read(_ path: String, limit: Int) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while text.count < limit {
            let wanted = min(chunk.count, limit - text.count)
            let count = unsafe pread(descriptor, &chunk, wanted, off_t(text.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            text += chunk[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The memory that this process may use.
enum AvailableMemory {
    /// The machine's memory, or the limit of the control group if that is lower, in bytes. Determined once.
    static let bytes = min(physicalBytes, ControlGroup.current.memoryLimit ?? .max)

    /// The machine's memory in bytes; 1 GiB if the system does not report it.
    private static var physicalBytes: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let size = sysconf(Int32(_SC_PAGESIZE))
        guard pages > 0, size > 0 else { return 1 << 30 }
        let product = pages.multipliedReportingOverflow(by: size)
        return product.overflow ? .max : product.partialValue
    }
}
