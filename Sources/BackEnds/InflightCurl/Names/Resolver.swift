internal import CInflightCurl
internal import Glibc
internal import InflightCore

/// Resolves names with c-ares on the event loop, without a thread. Only reading the hosts file blocks.
///
/// A name whose lookup is pending is not looked up again. Confined to the event loop's thread. The loop fetches the
/// answers itself, so that c-ares never calls into the loop.
// Safe: the channel lives as long as the resolver, and does not escape it.
@safe final class Resolver {
    enum Outcome: Sendable, Equatable {
        case found([String], secondsToLive: Int)
        /// The name does not exist, or has no address.
        case notFound(String)
        /// The result is unknown: the name servers do not answer, or answer with an error.
        case failed(String)
    }

    /// The context of one pending lookup, which c-ares passes back.
    private final class LookUp {
        let host: String
        unowned let resolver: Resolver

        init(host: String, resolver: Resolver) {
            self.host = host
            self.resolver = resolver
        }
    }

    private static let maximumAddresses = 16
    private static let isLibraryReady = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS

    private unowned let loop: EventLoop
    private let servers: String?
    private let mailbox: Mailbox
    /// nil until first needed.
    private var channel: ares_channel?
    private var pending: Set<String> = []
    /// The number of lookups that c-ares is working on.
    private var asked = 0
    private var answers: [(host: String, outcome: Outcome)] = []
    private var configuration = FileStamp()
    /// The system's resolver if names may come from other sources. Created when first needed.
    private lazy var system: SystemResolver? =
        servers == nil && NameServiceSwitch.systemHasOtherSources() ? SystemResolver() : nil

    init(loop: EventLoop, mailbox: Mailbox) {
        precondition(Self.isLibraryReady, "c-ares cannot be initialised: out of memory")
        self.loop = loop
        self.mailbox = mailbox
        servers = mailbox.settings.dnsServers
    }

    /// Drops pending lookups. Call it while the loop's poller still exists.
    func close() {
        if let channel = unsafe channel { unsafe ares_destroy(channel) }
        unsafe channel = nil
        answers = []
        pending = []
    }

    /// Looks up the addresses of `host`. ``takeAnswers()`` returns the answer later, or possibly at once.
    func lookUp(_ host: String) {
        guard pending.insert(host).inserted else { return }
        refreshChannel()
        guard let channel = unsafe channel else {
            pending.remove(host)
            answers.append((host, .failed("the system's DNS configuration is unusable")))
            return
        }
        asked += 1
        let lookUp = LookUp(host: host, resolver: self)
        unsafe inflight_ares_look_up(
            channel, host,
            { context, status, _, result in
                guard let context = unsafe context else { return }
                let lookUp = unsafe Unmanaged<LookUp>.fromOpaque(context).takeRetainedValue()
                unsafe lookUp.resolver.didAnswer(lookUp.host, status, result)
                if let result = unsafe result { unsafe ares_freeaddrinfo(result) }
            }, Unmanaged.passRetained(lookUp).toOpaque())
    }

    func takeAnswers() -> [(host: String, outcome: Outcome)] {
        if answers.isEmpty { return [] }
        defer { answers = [] }
        return answers
    }

    /// The system's resolver has answered.
    func didResolve(_ host: String, _ outcome: Outcome) {
        system?.didAnswer()
        guard pending.remove(host) != nil else { return }
        answers.append((host, outcome))
    }

    /// A descriptor of c-ares is ready.
    func process(_ descriptor: Int32, readable: Bool, writable: Bool) {
        guard let channel = unsafe channel else { return }
        unsafe ares_process_fd(
            channel, readable ? descriptor : ARES_SOCKET_BAD, writable ? descriptor : ARES_SOCKET_BAD)
    }

    /// Repeats or abandons lookups whose timeouts have passed.
    func processTimeouts() {
        guard asked > 0 else { return }
        process(0, readable: false, writable: false)
    }

    /// Returns the time at which ``processTimeouts()`` should be called next.
    func deadline(after now: Int64) -> Int64 {
        guard asked > 0, let channel = unsafe channel else { return .max }
        let milliseconds = unsafe inflight_ares_timeout(channel)
        return milliseconds < 0 ? .max : now + Int64(milliseconds) * 1_000_000
    }

    private func didAnswer(_ host: String, _ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        asked -= 1
        if status == ARES_EDESTRUCTION { return }
        let outcome = unsafe Self.outcome(status, result)
        if case .notFound = outcome, let system, system.lookUp(host, answering: mailbox) { return }
        pending.remove(host)
        answers.append((host, outcome))
    }

    private static func outcome(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) -> Outcome {
        guard status == ARES_SUCCESS, let result = unsafe result else {
            let why = unsafe String(cString: ares_strerror(status))
            switch status {
            case ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME: return .notFound(why)
            default: return .failed(why)
            }
        }
        var addresses: [String] = []
        var seconds = Int.max
        var next = unsafe result.pointee.nodes
        while let node = unsafe next, addresses.count < maximumAddresses {
            if let address = unsafe node.pointee.ai_addr, let text = unsafe SocketAddress.text(address),
                !addresses.contains(text)
            {
                addresses.append(text)
                seconds = unsafe min(seconds, Int(node.pointee.ai_ttl))
            }
            unsafe next = node.pointee.ai_next
        }
        return addresses.isEmpty ? .notFound("the name has no address") : .found(addresses, secondsToLive: seconds)
    }

    /// Creates the channel, or recreates it if the system's configuration has changed and no lookup is pending.
    private func refreshChannel() {
        guard asked == 0 else { return }
        let current = FileStamp("/etc/resolv.conf")
        if unsafe channel != nil, current == configuration { return }
        configuration = current
        if let old = unsafe channel { unsafe ares_destroy(old) }
        unsafe channel = nil
        var made: ares_channel?
        let status = unsafe inflight_ares_make(
            &made, servers,
            { context, descriptor, readable, writable in
                guard let context = unsafe context else { return }
                let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue()
                loop.resolverWants(descriptor, readable: readable != 0, writable: writable != 0)
            }, Unmanaged.passUnretained(loop).toOpaque())
        if status == ARES_SUCCESS { unsafe channel = made }
    }
}

/// Enough of a file's state to detect a change.
private struct FileStamp: Equatable {
    private var inode: UInt64 = 0
    private var size: Int64 = 0
    private var seconds: Int64 = 0
    private var nanoseconds: Int64 = 0

    init() {}

    init(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}
