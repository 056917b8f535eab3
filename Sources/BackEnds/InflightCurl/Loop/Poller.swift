internal import CInflightCurl
internal import Glibc

/// Watches the event loop's descriptors through epoll, with as few system calls as possible.
///
/// Between two exchanges on a connection, libcurl drops its interest in the socket and then renews it. Interest is
/// therefore only recorded. Before the next wait, missing interest is added in the kernel; excess interest is removed
/// when an event arrives for it. A connection in steady use costs no such call.
struct Poller: ~Copyable {
    enum Owner: UInt8 {
        case nobody
        case wake
        case curl
        case resolver
    }

    struct Interest: OptionSet {
        let rawValue: UInt8
        static let read = Interest(rawValue: 1)
        static let write = Interest(rawValue: 2)
    }

    struct Event {
        var descriptor: Int32
        var owner: Owner
        var readable: Bool
        var writable: Bool
        var failed: Bool
    }

    private struct Entry {
        /// Distinguishes the descriptor from an earlier one with the same number.
        var generation: UInt32 = 0
        var owner = Owner.nobody
        var wanted: Interest = []
        /// The interest known to the kernel; nil if the descriptor is not registered.
        var known: Interest?
        var isChanged = false
    }

    private static let capacity = 128

    private let epoll: Int32
    private var entries: [Entry] = []
    private var changed: [Int32] = []
    private var events = [inflight_event](repeating: inflight_event(), count: capacity)

    /// - Parameter epoll: Owned by the caller.
    init(epoll: Int32, wake: Int32) {
        self.epoll = epoll
        let flags = UInt32(EPOLLIN.rawValue) | EPOLLET.rawValue
        inflight_epoll_control(epoll, EPOLL_CTL_ADD, wake, flags, Self.token(wake, 0))
        makeRoom(for: wake)
        entries[Int(wake)].owner = .wake
        entries[Int(wake)].known = [.read]
        entries[Int(wake)].wanted = [.read]
    }

    private mutating func makeRoom(for descriptor: Int32) {
        while entries.count <= Int(descriptor) { entries.append(Entry()) }
    }

    private static func token(_ descriptor: Int32, _ generation: UInt32) -> UInt64 {
        UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    /// Records the interest of `owner` in `descriptor`. An empty interest keeps the registration for later use.
    mutating func want(_ interest: Interest, on descriptor: Int32, owner: Owner) {
        makeRoom(for: descriptor)
        let position = Int(descriptor)
        entries[position].owner = owner
        entries[position].wanted = interest
        guard !interest.isEmpty, !entries[position].isChanged else { return }
        if let known = entries[position].known, known.isSuperset(of: interest) { return }
        entries[position].isChanged = true
        changed.append(descriptor)
    }

    /// Removes `descriptor`. Call it before the descriptor is closed.
    mutating func forget(_ descriptor: Int32) {
        guard Int(descriptor) < entries.count else { return }
        let position = Int(descriptor)
        if entries[position].known != nil {
            // Closing the descriptor is not enough, because a child process may hold a duplicate.
            inflight_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
        }
        entries[position].known = nil
        entries[position].wanted = []
        entries[position].owner = .nobody
        entries[position].generation &+= 1
    }

    private mutating func updateEpoll() {
        for descriptor in changed {
            let position = Int(descriptor)
            entries[position].isChanged = false
            let wanted = entries[position].wanted
            guard !wanted.isEmpty else { continue }
            if let known = entries[position].known {
                if !known.isSuperset(of: wanted) { control(EPOLL_CTL_MOD, descriptor, wanted) }
            } else {
                control(EPOLL_CTL_ADD, descriptor, wanted)
            }
        }
        changed.removeAll(keepingCapacity: true)
    }

    private mutating func control(_ operation: Int32, _ descriptor: Int32, _ interest: Interest) {
        var flags: UInt32 = 0
        if interest.contains(.read) { flags |= EPOLLIN.rawValue }
        if interest.contains(.write) { flags |= EPOLLOUT.rawValue }
        let entry = entries[Int(descriptor)]
        let status = inflight_epoll_control(
            epoll, operation, descriptor, flags, Self.token(descriptor, entry.generation))
        if status == 0 { entries[Int(descriptor)].known = operation == EPOLL_CTL_DEL ? nil : interest }
    }

    /// Waits for events and returns their number. ``event(_:)`` returns each.
    mutating func wait(milliseconds: Int32) -> Int {
        updateEpoll()
        let epoll = epoll
        return unsafe events.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return Int(unsafe inflight_epoll_wait(epoll, base, Int32(buffer.count), milliseconds))
        }
    }

    /// Returns the event at `index` of the last wait, or nil if its descriptor is no longer of interest.
    mutating func event(_ index: Int) -> Event? {
        let event = events[index]
        let descriptor = Int32(truncatingIfNeeded: event.token)
        let entry = entries[Int(descriptor)]
        guard UInt32(truncatingIfNeeded: event.token >> 32) == entry.generation, let known = entry.known else {
            return nil
        }
        if entry.wanted.isEmpty {
            // Data on an idle connection. libcurl checks the connection before it reuses it.
            control(EPOLL_CTL_DEL, descriptor, [])
            return nil
        }
        if known != entry.wanted, entry.owner != .wake { control(EPOLL_CTL_MOD, descriptor, entry.wanted) }
        return Event(
            descriptor: descriptor, owner: entry.owner,
            readable: event.events & EPOLLIN.rawValue != 0 && entry.wanted.contains(.read),
            writable: event.events & EPOLLOUT.rawValue != 0 && entry.wanted.contains(.write),
            failed: event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0)
    }
}
