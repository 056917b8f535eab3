internal import CInflightCurl
internal import InflightConcurrency
internal import InflightCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The one thread that drives libcurl: it waits for sockets, timers and letters, and tells receivers what came.
///
/// Everything here is confined to that thread. libcurl calls back from inside the calls that are made to it, so no
/// exclusive access to the loop's own state is held across those.
// Safe: the pointers live as long as the loop, and never leave.
@safe final class EventLoop {
    let settings: Settings
    /// Nanoseconds of the monotonic clock, as of the latest wait.
    var now: Int64 = 0

    private let mailbox: Mailbox
    private let clock = SystemClock()
    let multi: UnsafeMutableRawPointer
    private let share: UnsafeMutableRawPointer?
    private var poller: Poller
    private var pool: [EasyHandle] = []
    private var active: [Exchange] = []
    private var sites: [Origin: Site] = [:]

    /// When libcurl wants to be called.
    private var transferDeadline = Int64.max
    /// When the exchanges' own deadlines have to be looked at: never later than the first of them.
    private var nextScan = Int64.max

    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(mailbox: Mailbox) {
        precondition(Self.isLibraryReady, "libcurl cannot be initialised: memory is short")
        self.mailbox = mailbox
        settings = mailbox.settings
        poller = Poller(wake: mailbox.wakeDescriptor)
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("libcurl has no memory") }
        unsafe self.multi = multi
        unsafe share = inflight_share_make()
        setUp()
    }

    private func setUp() {
        unsafe inflight_multi_set_callbacks(
            multi,
            { _, descriptor, what, context, _ in
                let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
                loop.didChangeInterest(descriptor, what)
                return 0
            },
            { _, milliseconds, context in
                let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
                loop.didSetTimer(milliseconds)
                return 0
            },
            Unmanaged.passUnretained(self).toOpaque())
        for (option, value) in [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            (CURLMOPT_MAX_HOST_CONNECTIONS, settings.maximumConnectionsPerOrigin),
            (CURLMOPT_MAX_CONCURRENT_STREAMS, settings.maximumStreamsPerConnection),
            (CURLMOPT_MAXCONNECTS, settings.maximumIdleConnections),
        ] {
            unsafe inflight_multi_set_long(multi, option, value)
        }
    }

    // MARK: The loop

    func run() {
        // Signals are the program's; a connection that breaks while TLS writes to it must not end the program.
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)

        var letters: [Mailbox.Letter] = []
        while true {
            let ending = mailbox.take(into: &letters)
            now = clock.now().nanoseconds
            for letter in letters { open(letter, ending) }
            letters.removeAll(keepingCapacity: letters.capacity <= 4096)
            if ending == .now { break }
            runTransfers()
            checkDeadlines()
            if ending == .whenIdle, active.isEmpty { break }
            wait(ending)
        }
        close()
        // Nothing is begun any more: what still comes is told so.
        while !mailbox.ended() {
            _ = mailbox.take(into: &letters)
            for letter in letters { open(letter, .now) }
            letters.removeAll()
            endAll()
        }
    }

    private func open(_ letter: Mailbox.Letter, _ ending: Mailbox.Ending) {
        switch letter {
        case .start(let exchange):
            exchange.index = active.count
            active.append(exchange)
            if ending != .now { begin(exchange) }
        case .cancel(let exchange):
            if exchange.phase != .ended { finish(exchange, .failure(exchange.cancelled)) }
        case .resume(let exchange):
            resume(exchange)
        }
    }

    /// Lets libcurl do what is due, and ends the transfers that are through.
    private func runTransfers() {
        // A round may make the next one due at once; beyond a few of them sockets and letters have their turn first.
        for _ in 0..<4 where transferDeadline <= now {
            transferDeadline = .max
            act(CURL_SOCKET_TIMEOUT, 0)
        }
        collectEnded()
    }

    private func act(_ descriptor: curl_socket_t, _ events: Int32) {
        var running: Int32 = 0
        unsafe curl_multi_socket_action(multi, descriptor, events, &running)
    }

    private func collectEnded() {
        var code = CURLE_OK
        while let easy = unsafe inflight_multi_next_done(multi, &code) {
            guard let context = unsafe inflight_easy_private(easy) else { continue }
            let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            if let exchange = handle.exchange { didEnd(exchange, handle, code) }
        }
    }

    private func wait(_ ending: Mailbox.Ending) {
        let deadline = min(transferDeadline, nextScan)
        var milliseconds: Int32 = 0
        var sleeps = false
        if deadline > now, mailbox.fallAsleep(seen: ending) {
            sleeps = true
            // Rounded up, so that a timer is not found a little too early again and again.
            milliseconds = deadline == .max ? -1 : Int32(min((deadline - now + 999_999) / 1_000_000, 3_600_000))
        }
        let count = poller.wait(milliseconds: milliseconds)
        if sleeps { mailbox.wokeUp() }
        now = clock.now().nanoseconds
        for index in 0..<count {
            guard let event = poller.event(index) else { continue }
            switch event.owner {
            case .curl:
                var events: Int32 = 0
                if event.readable { events |= CURL_CSELECT_IN }
                if event.writable { events |= CURL_CSELECT_OUT }
                if event.failed { events |= CURL_CSELECT_ERR }
                act(event.descriptor, events)
            case .wake, .resolver, .nobody: break
            }
        }
    }

    private func endAll() {
        while let exchange = active.last {
            finish(
                exchange,
                .failure(exchange.failure(.shutDown, "The transport was shut down. Make a new one to go on.")))
        }
    }

    private func close() {
        endAll()
        pool.removeAll()
        unsafe curl_multi_cleanup(multi)
        if let share = unsafe share { unsafe curl_share_cleanup(share) }
    }

    // MARK: What libcurl asks for

    private func didChangeInterest(_ descriptor: curl_socket_t, _ what: Int32) {
        var interest: Poller.Interest = []
        if what == CURL_POLL_IN || what == CURL_POLL_INOUT { interest.insert(.read) }
        if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { interest.insert(.write) }
        poller.want(interest, on: descriptor, owner: .curl)
    }

    private func didSetTimer(_ milliseconds: Int) {
        switch milliseconds {
        case ..<0: transferDeadline = .max
        case 0: transferDeadline = now
        default: transferDeadline = clock.now().nanoseconds + Int64(milliseconds) * 1_000_000
        }
    }

    func willClose(_ descriptor: curl_socket_t) {
        poller.forget(descriptor)
    }

    func willConnect(_ exchange: Exchange) {
        exchange.hasOpenedSocket = true
        guard exchange.connectingSince == 0, let site = exchange.site else { return }
        exchange.connectingSince = site.connected > 0 ? now : max(exchange.startedAt, site.busyUntil)
    }

    func didConnect(_ exchange: Exchange) {
        exchange.lastActivity = now
        guard exchange.phase == .connecting else { return }
        exchange.phase = .connected
        exchange.site?.connected += 1
        if let stall = exchange.stallTimeout { nextScan = min(nextScan, now + stall) }
    }

    // MARK: Exchanges

    private func begin(_ exchange: Exchange) {
        exchange.startedAt = now
        guard let origin = exchange.request.url.origin, schemes.contains(origin.scheme) else {
            let error = LoadError(
                .unsupportedScheme, stage: .fetch, url: exchange.request.url.string,
                message: "libcurl serves http and https here. Give a URL of one of these.")
            return finish(exchange, .failure(error))
        }
        let site = sites[origin] ?? makeSite(origin)
        exchange.site = site
        site.active += 1
        nextScan = min(nextScan, exchange.firstDeadline)
        hand(exchange)
    }

    private let schemes: Set<String> = ["http", "https"]

    private func makeSite(_ origin: Origin) -> Site {
        if sites.count >= 1024 { sites = sites.filter { $0.value.active > 0 } }
        let site = Site(origin: origin)
        sites[origin] = site
        return site
    }

    /// Hands the exchange to libcurl.
    private func hand(_ exchange: Exchange) {
        guard let handle = unsafe pool.popLast() ?? EasyHandle(loop: self, share: share) else {
            return finish(exchange, .failure(exchange.failure(.cannotConnect, "libcurl has no memory left.")))
        }
        exchange.phase = .connecting
        if let error = handle.prepare(for: exchange, url: exchange.request.url.string, proxy: "", resolving: []) {
            pool.append(handle)
            return finish(exchange, .failure(error))
        }
        unsafe curl_multi_add_handle(multi, handle.easy)
    }

    private func resume(_ exchange: Exchange) {
        guard exchange.phase != .ended, exchange.isPaused else { return }
        exchange.isPaused = false
        exchange.lastActivity = now
        if let summary = exchange.heldSummary { return finish(exchange, .success(summary)) }
        if let stall = exchange.stallTimeout { nextScan = min(nextScan, now + stall) }
        if exchange.holdsBytes, let handle = exchange.easy {
            exchange.holdsBytes = false
            unsafe curl_easy_pause(handle.easy, CURLPAUSE_CONT)
        }
    }

    /// libcurl is through with it.
    private func didEnd(_ exchange: Exchange, _ handle: EasyHandle, _ code: CURLcode) {
        if code == CURLE_OK, exchange.stop == nil, exchange.parser.isComplete {
            let wire = exchange.isCoded ? handle.wireBytes : exchange.bodyBytes
            let summary = TransportSummary(
                wireBytes: wire, bodyBytes: exchange.bodyBytes, reusedConnection: !exchange.hasOpenedSocket)
            if exchange.isPaused {
                // Nothing comes after a pause but what is asked for: the end waits, the connection does not.
                exchange.heldSummary = summary
                release(exchange)
                exchange.phase = .held
            } else {
                finish(exchange, .success(summary))
            }
        } else {
            finish(exchange, .failure(exchange.stop ?? exchange.failure(for: code, detail: handle.errorMessage)))
        }
    }

    /// Takes the exchange's handle away from libcurl: a transfer that is not through is broken off.
    private func release(_ exchange: Exchange) {
        if let handle = exchange.easy {
            exchange.easy = nil
            unsafe curl_multi_remove_handle(multi, handle.easy)
            handle.exchange = nil
            pool.append(handle)
        }
        if exchange.phase == .connected, let site = exchange.site {
            site.connected -= 1
            site.busyUntil = now
            // Those who waited for their turn are connecting now.
            if site.connected == 0, site.active > 1 { nextScan = min(nextScan, now + 10_000_000) }
        }
    }

    private func finish(_ exchange: Exchange, _ result: Result<TransportSummary, LoadError>) {
        release(exchange)
        exchange.phase = .ended
        exchange.site?.active -= 1
        exchange.site = nil
        let last = active.removeLast()
        if last !== exchange {
            active[exchange.index] = last
            last.index = exchange.index
        }
        let receiver = exchange.receiver
        exchange.receiver = nil
        receiver?.didEnd(result)
    }

    private func checkDeadlines() {
        guard nextScan <= now else { return }
        var next = Int64.max
        var late: [(Exchange, LoadError)] = []
        for exchange in active {
            guard let (deadline, limit) = exchange.nextDeadline else { continue }
            if deadline <= now {
                late.append((exchange, exchange.failure(forLimit: limit)))
            } else {
                next = min(next, deadline)
            }
        }
        // At most a few hundred looks a second, however the deadlines lie.
        nextScan = max(next, now + 2_000_000)
        for (exchange, error) in late where exchange.phase != .ended { finish(exchange, .failure(error)) }
    }
}
