internal import CInflightCurl
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// The thread that drives libcurl: it waits for sockets, timers and commands, and calls receivers.
///
/// Everything here is confined to that thread. libcurl calls back from inside the calls made to it, so no exclusive
/// access to the loop's own state is held across them.
// Safe: the pointers live as long as the loop, and do not escape it.
@safe final class EventLoop {
    let settings: Settings
    /// The monotonic time in nanoseconds, as of the latest wait.
    var now: Int64 = 0

    private let mailbox: Mailbox
    private let clock = SystemClock()
    let multi: UnsafeMutableRawPointer
    private let share: UnsafeMutableRawPointer?
    private var poller: Poller
    private var pool: [EasyHandle] = []
    private var active: [Exchange] = []
    /// The exchanges that ended in this turn and whose ends have not been delivered.
    private var endings: [TransportEnding] = []
    /// The sites whose waiting exchanges may be passed to libcurl.
    private var unblocked: [Site] = []
    /// The timeouts of the latest exchange.
    private var timeouts = Timeouts.none
    private var siteTable: SiteTable
    private var resolver: Resolver!

    /// The maximum number of pooled handles, of some kilobytes each. Others are released after use.
    private static let maximumPooledHandles = 256

    /// The number of open connections, including idle ones.
    private var openSockets = 0
    /// The maximum number of open connections.
    private let maximumSockets = DescriptorLimit.connections
    /// The last time at which that maximum was reached.
    private var fullUntil: Int64 = 0

    /// The time at which libcurl wants to be called.
    private var transferDeadline = Int64.max
    /// The time of the next check of the exchanges' own deadlines, never later than the first of them.
    private var nextScan = Int64.max

    /// Creates the loop. libcurl must have been loaded.
    init(mailbox: Mailbox) {
        self.mailbox = mailbox
        settings = mailbox.settings
        poller = Poller(epoll: mailbox.epollDescriptor, wake: mailbox.wakeDescriptor)
        siteTable = SiteTable(settings: mailbox.settings)
        guard let multi = unsafe inflight_multi_make() else { preconditionFailure("libcurl is out of memory") }
        unsafe self.multi = multi
        unsafe share = inflight_share_make()
        resolver = Resolver(loop: self, mailbox: mailbox)
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
            (CURLMOPT_MAX_TOTAL_CONNECTIONS, maximumSockets),
        ] {
            unsafe inflight_multi_set_long(multi, option, value)
        }
    }

    // MARK: The loop

    func run() {
        // Signals belong to the program, and a connection that breaks during a TLS write must not end it.
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)

        var commands: [Mailbox.Command] = []
        while true {
            let ending = mailbox.take(into: &commands)
            now = clock.now().nanoseconds
            for command in commands { open(command, ending) }
            commands.removeAll(keepingCapacity: commands.capacity <= 4096)
            if ending == .now { break }
            takeAnswers()
            runTransfers()
            checkDeadlines()
            startWaiting()
            deliverEndings()
            if ending == .whenIdle, active.isEmpty { break }
            wait(ending)
        }
        close()
        // No more exchanges are started. Those that still arrive fail with the shutdown error.
        while !mailbox.ended() {
            _ = mailbox.take(into: &commands)
            for command in commands { open(command, .now) }
            commands.removeAll()
            endAll()
        }
    }

    private func open(_ command: Mailbox.Command, _ ending: Mailbox.Ending) {
        switch command {
        case .start(let exchange):
            exchange.index = active.count
            active.append(exchange)
            if ending != .now { begin(exchange) }
        case .cancel(let exchange):
            if exchange.phase != .ended { finish(exchange, .failure(exchange.cancelled)) }
        case .resume(let exchange):
            resume(exchange)
        case .prioritize(let exchange, let priority):
            exchange.priority = priority
            // A paused stream's weight is sent when it resumes. Before its request, libcurl has no stream.
            let hasStream = exchange.phase == .connected && !exchange.holdsBytes
            exchange.easy?.setPriority(priority, flushes: hasStream && exchange.request.url.scheme == "https")
        case .limit(let exchange, let limits):
            exchange.apply(limits)
            // They may have become stricter.
            nextScan = now
        case .resolved(let host, let outcome):
            resolver.didResolve(host, outcome)
        }
    }

    /// Runs libcurl's timers that are due, and ends finished transfers.
    private func runTransfers() {
        // Each call may make another timer due at once. After four calls, sockets and commands are served first.
        for _ in 0..<4 where transferDeadline <= now {
            transferDeadline = .max
            act(CURL_SOCKET_TIMEOUT, 0)
        }
        collectEnded()
    }

    private func act(_ descriptor: curl_socket_t, _ events: Int32) {
        unsafe inflight_multi_act(multi, descriptor, events)
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
        let deadline = min(transferDeadline, nextScan, resolver.deadline(after: now))
        var milliseconds: Int32 = 0
        var sleeps = false
        if deadline > now, mailbox.prepareToSleep(seen: ending) {
            sleeps = true
            // Rounded up, so that the loop does not wake repeatedly just before a timer is due.
            milliseconds = deadline == .max ? -1 : Int32(min((deadline - now + 999_999) / 1_000_000, 3_600_000))
        }
        let count = poller.wait(milliseconds: milliseconds)
        if sleeps { mailbox.didWake() }
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
            case .resolver:
                resolver.process(
                    event.descriptor, readable: event.readable || event.failed, writable: event.writable)
            case .wake, .nobody: break
            }
        }
        resolver.processTimeouts()
        // Process these before the commands, so that new exchanges find the resolved addresses.
        takeAnswers()
    }

    private func endAll() {
        while let exchange = active.last {
            finish(
                exchange,
                .failure(exchange.failure(.shutDown, "The transport was shut down. Create a new one.")))
        }
        deliverEndings()
    }

    private func close() {
        endAll()
        resolver.close()
        pool.removeAll()
        unsafe inflight_multi_free(multi)
        if let share = unsafe share { unsafe inflight_share_free(share) }
    }

    // MARK: Callbacks

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

    func resolverWants(_ descriptor: Int32, readable: Bool, writable: Bool) {
        if !readable, !writable { return poller.forget(descriptor) }
        var interest: Poller.Interest = []
        if readable { interest.insert(.read) }
        if writable { interest.insert(.write) }
        poller.want(interest, on: descriptor, owner: .resolver)
    }

    func willClose(_ descriptor: curl_socket_t) {
        poller.forget(descriptor)
        recordFullness()
        openSockets -= 1
    }

    private func recordFullness() {
        if openSockets >= maximumSockets { fullUntil = now }
    }

    /// - Returns: Whether the exchange may connect to that address.
    func willConnect(_ exchange: Exchange, to address: UnsafePointer<sockaddr>) -> Bool {
        // A proxy's address is the operator's choice. The origin behind it was checked before.
        if exchange.site?.route.proxy.isEmpty != false {
            guard settings.addressPolicy.allows(ifKnown: unsafe SocketAddress.ip(address)) else {
                exchange.refusedAddress = unsafe SocketAddress.text(address) ?? "unknown address family"
                return false
            }
        }
        exchange.hasOpenedSocket = true
        guard exchange.connectingSince == 0, let site = exchange.site else { return true }
        exchange.connectingSince = site.connected > 0 ? now : max(exchange.startedAt, site.busyUntil, fullUntil)
        return true
    }

    func didOpenSocket() {
        openSockets += 1
    }

    func didConnect(_ exchange: Exchange) {
        exchange.lastActivity = now
        exchange.isOnReusedConnection = !exchange.hasOpenedSocket
        exchange.phase = .connected
        exchange.site?.connected += 1
        nextScan = min(nextScan, exchange.stallDeadline)
    }

    // MARK: Exchanges

    private func begin(_ exchange: Exchange) {
        exchange.startedAt = now
        if !timeouts.isOf(exchange.request.limits) { timeouts = Timeouts(exchange.request.limits) }
        exchange.timeouts = timeouts
        guard let origin = exchange.request.url.origin, origin.scheme == "http" || origin.scheme == "https" else {
            let error = LoadError(
                .unsupportedScheme, stage: .fetch, url: exchange.request.url.string,
                message: "Unsupported URL scheme. Supported by this transport: http, https.")
            return finish(exchange, .failure(error))
        }
        let site: Site
        do {
            site = try siteTable.site(for: origin)
        } catch {
            return finish(exchange, .failure(error.about(url: exchange.request.url.string)))
        }
        exchange.site = site
        site.active += 1
        nextScan = min(nextScan, exchange.firstDeadline)
        for endpoint in site.endpoints where endpoint.freshUntil <= now {
            exchange.unresolvedNames += 1
            endpoint.waiters.append(exchange)
            endpoint.isBeingLookedUp = true
            resolver.lookUp(endpoint.host)
        }
        if exchange.unresolvedNames == 0 { startTransfer(exchange, to: site) }
    }

    /// Continues exchanges whose names were resolved.
    private func takeAnswers() {
        while case let answers = resolver.takeAnswers(), !answers.isEmpty {
            for (host, outcome) in answers {
                for (exchange, problem) in siteTable.didResolve(host, outcome, at: now) {
                    guard exchange.phase == .resolving, let site = exchange.site else { continue }
                    if let problem {
                        finish(exchange, .failure(exchange.failure(forName: host, problem, outcome)))
                    } else {
                        exchange.unresolvedNames -= 1
                        if exchange.unresolvedNames == 0 { startTransfer(exchange, to: site) }
                    }
                }
            }
        }
    }

    /// Passes the exchange to libcurl.
    private func startTransfer(_ exchange: Exchange, to site: Site) {
        if let address = site.refusedBehindProxy(by: settings.addressPolicy) {
            return finish(exchange, .failure(exchange.failure(forRefused: address)))
        }
        guard site.handed < site.streams.limit || site.requiresHTTP1 else {
            exchange.phase = .waiting
            return site.waiting.append(exchange)
        }
        guard let handle = unsafe pool.popLast() ?? EasyHandle(loop: self, share: share) else {
            return finish(
                exchange,
                .failure(exchange.failure(.cannotConnect, "libcurl is out of memory. Load fewer images at once.")))
        }
        exchange.phase = .connecting
        exchange.addedAt = now
        exchange.windowGeneration = site.streams.generation
        if let problem = handle.prepare(
            for: exchange, url: site.text(of: exchange.request.url), proxy: site.route.proxy)
        {
            pool.append(handle)
            return finish(exchange, .failure(problem))
        }
        let entries = siteTable.takeEntries(for: site)
        handle.install(entries)
        // The connections that are idle may refuse streams, too.
        let wasRefusedAlone = exchange.resendsAlone > 0
        handle.setNeedsNewConnection(
            exchange.request.needsNewConnection || site.reuse.needsNewConnection || wasRefusedAlone)
        site.handed += 1
        unsafe inflight_multi_add(multi, handle.easy)
        // libcurl reads the addresses when it starts a transfer. Start this one before another to the same host.
        if !entries.isEmpty { act(CURL_SOCKET_TIMEOUT, 0) }
    }

    /// Sends a request again that the origin has not processed: over HTTP/1.1 if it requires that, else over another
    /// connection, once few enough streams are active.
    private func resend(_ exchange: Exchange, to site: Site) {
        release(exchange)
        exchange.forgetConnection()
        nextScan = min(nextScan, now)
        startTransfer(exchange, to: site)
    }

    /// Sends a request again whose stream the origin refused.
    private func resendRefused(_ exchange: Exchange, to site: Site) {
        let isAlone = site.handed == 1
        exchange.resends += 1
        if isAlone { exchange.resendsAlone += 1 }
        // A connection that closes refuses its last streams. Only one that refuses again takes too few.
        if exchange.resends > 1 {
            site.streams.didRefuse(sentIn: exchange.windowGeneration, among: site.handed)
        }
        resend(exchange, to: site)
    }

    /// Passes waiting exchanges to libcurl as far as their origins take more streams, the most urgent first.
    private func startWaiting() {
        while let site = unblocked.popLast() {
            while site.handed < site.streams.limit || site.requiresHTTP1,
                let next = site.waiting.indices.max(by: {
                    (site.waiting[$0].priority, $1) < (site.waiting[$1].priority, $0)
                })
            {
                startTransfer(site.waiting.remove(at: next), to: site)
            }
        }
    }

    private func resume(_ exchange: Exchange) {
        guard exchange.phase != .ended, exchange.isPaused else { return }
        exchange.isPaused = false
        exchange.lastActivity = now
        if let summary = exchange.heldSummary { return finish(exchange, .success(summary)) }
        nextScan = min(nextScan, exchange.stallDeadline)
        if exchange.holdsBytes, let handle = exchange.easy {
            exchange.holdsBytes = false
            unsafe inflight_easy_pause(handle.easy, CURLPAUSE_CONT)
        }
    }

    /// libcurl has finished the transfer.
    private func didEnd(_ exchange: Exchange, _ handle: EasyHandle, _ code: CURLcode) {
        exchange.noteLines(at: now)
        if code == CURLE_OK, exchange.stop == nil, exchange.hasHead {
            exchange.site?.reuse.didServe()
            exchange.site?.streams.didServe()
            let trailers = handle.trailers
            if !trailers.isEmpty { exchange.receiver?.didReceive(trailers: trailers) }
            let wire = exchange.isCoded ? handle.wireBytes : exchange.bodyBytes
            let summary = TransportSummary(
                wireBytes: wire, bodyBytes: exchange.bodyBytes, reusedConnection: exchange.isOnReusedConnection)
            if exchange.isPaused {
                // A paused receiver gets nothing until it resumes. The ending is held; the connection is not.
                exchange.heldSummary = summary
                release(exchange)
                exchange.phase = .held
            } else {
                finish(exchange, .success(summary))
            }
        } else {
            if exchange.isRefusedOverHTTP2 || handle.requiresHTTP1, let site = exchange.site {
                site.requiresHTTP1 = true
                if !exchange.hasResponseBytes, !handle.usesHTTP1, RetryPolicy.isIdempotent(exchange.request.method) {
                    return resend(exchange, to: site)
                }
            }
            if exchange.isRefusedStream || handle.isToldToCalmDown, let site = exchange.site, exchange.mayResend {
                return resendRefused(exchange, to: site)
            }
            exchange.deliverTimings()
            let error = exchange.stop ?? exchange.failure(for: code, detail: handle.errorMessage)
            if error.code == .connectionLost { exchange.site?.reuse.didLose(startedAt: exchange.addedAt, at: now) }
            finish(exchange, .failure(error))
        }
    }

    /// Takes the exchange's handle back from libcurl. An unfinished transfer is aborted.
    private func release(_ exchange: Exchange) {
        if let handle = exchange.easy {
            exchange.easy = nil
            unsafe inflight_multi_remove(multi, handle.easy)
            handle.exchange = nil
            if let site = exchange.site {
                site.handed -= 1
                if !site.waiting.isEmpty { unblocked.append(site) }
            }
            if !handle.isWorn, pool.count < Self.maximumPooledHandles { pool.append(handle) }
        }
        if exchange.phase == .connected, let site = exchange.site {
            site.connected -= 1
            site.busyUntil = now
            // Exchanges that waited for a connection are connecting now.
            if site.connected == 0, site.active > 1 { nextScan = min(nextScan, now + 10_000_000) }
        }
    }

    private func finish(_ exchange: Exchange, _ result: Result<TransportSummary, LoadError>) {
        release(exchange)
        if exchange.phase == .waiting { exchange.site?.waiting.removeAll { $0 === exchange } }
        exchange.phase = .ended
        exchange.site?.active -= 1
        exchange.site = nil
        let last = active.removeLast()
        if last !== exchange {
            active[exchange.index] = last
            last.index = exchange.index
        }
        if let receiver = exchange.receiver {
            exchange.receiver = nil
            endings.append(TransportEnding(receiver: receiver, result: result))
        }
    }

    /// Delivers all endings of this turn at once.
    private func deliverEndings() {
        while !endings.isEmpty {
            var told: [TransportEnding] = []
            swap(&told, &endings)
            TransportEnding.deliver(told)
        }
    }

    private func checkDeadlines() {
        guard nextScan <= now else { return }
        recordFullness()
        var next = Int64.max
        var late: [(Exchange, LoadError)] = []
        for exchange in active {
            exchange.noteLines(at: now)
            guard let (deadline, limit) = exchange.nextDeadline(connectionsFullUntil: fullUntil) else { continue }
            if deadline <= now {
                late.append((exchange, exchange.failure(forLimit: limit)))
            } else {
                next = min(next, deadline)
            }
        }
        // Checks at most a few hundred times per second, whatever the deadlines are.
        nextScan = max(next, now + 2_000_000)
        for (exchange, error) in late where exchange.phase != .ended { finish(exchange, .failure(error)) }
    }
}
