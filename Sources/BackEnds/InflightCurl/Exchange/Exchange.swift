internal import InflightCore

/// One exchange: the caller's handle, and the event loop's state of it.
// Unchecked: `request` and `mailbox` never change. Everything else is confined to the event loop's thread once the
// exchange has been posted to its mailbox.
final class Exchange: Transfer, @unchecked Sendable {
    enum Phase {
        /// The exchange has not been passed to libcurl yet. Its names are being resolved.
        case resolving
        /// The origin refused streams. The exchange is passed to libcurl when fewer are active.
        case waiting
        /// libcurl has the exchange, and is waiting for a connection or opening one.
        case connecting
        /// The request has been sent, or is being sent, on a connection.
        case connected
        /// libcurl has finished, but the receiver is paused, so the ending is held.
        case held
        case ended
    }

    private(set) var request: TransportRequest
    private let mailbox: Mailbox

    /// Retained until the exchange ends.
    var receiver: (any TransportReceiver)?
    var phase = Phase.resolving
    var priority: ImageRequest.Priority
    var easy: EasyHandle?
    var site: Site?
    /// The position in the loop's list.
    var index = -1

    var timeouts = Timeouts.none
    var startedAt: Int64 = 0
    /// When the exchange was handed to libcurl, whose own times count from then.
    var addedAt: Int64 = 0
    private var hasDeliveredTimings = false
    /// When the exchange began to open a connection of its own; 0 if it has not.
    var connectingSince: Int64 = 0
    /// When the last byte was received or sent.
    var lastActivity: Int64 = 0

    /// Whether the final head has been received.
    var hasHead = false
    /// Whether any part of a response has been received.
    var hasResponseBytes = false
    /// The number of header lines received at the last check for activity.
    var seenLines = 0
    /// Whether a head has begun but not ended.
    var isWithinHead = false
    var interimHeads = 0
    var isCoded = false
    var bodyBytes: Int64 = 0
    var uploadedBytes = 0
    var lastWireBytes: Int64 = 0
    /// The reason why a callback stopped libcurl.
    var stop: LoadError?
    /// Whether libcurl said that the origin requires HTTP/1.1, when it wanted to send the request again.
    var isRefusedOverHTTP2 = false
    /// Whether the origin refused the stream before processing it (RFC 9113 section 8.7).
    var isRefusedStream = false
    /// How often the request was sent again because the origin refused its stream.
    var resends = 0
    var resendsAlone = 0
    /// The ``StreamWindow/generation`` in which the request was sent.
    var windowGeneration = 0
    /// Whether the receiver is paused, so that further bytes are refused.
    var isPaused = false
    /// Whether libcurl holds refused bytes.
    var holdsBytes = false
    var heldSummary: TransportSummary?
    var hasOpenedSocket = false
    /// The latest address refused by the address policy.
    var refusedAddress: String?
    /// Whether the process had no file descriptor left for a connection.
    var lacksDescriptors = false
    /// Whether the request was sent on a connection that an earlier exchange had opened.
    var isOnReusedConnection = false
    /// The number of names to resolve before the exchange can be handed to libcurl.
    var unresolvedNames = 0

    init(request: TransportRequest, receiver: any TransportReceiver, mailbox: Mailbox) {
        priority = request.priority
        self.request = request
        self.receiver = receiver
        self.mailbox = mailbox
    }

    func cancel() {
        mailbox.post(.cancel(self))
    }

    func resume() {
        mailbox.post(.resume(self))
    }

    func setPriority(_ priority: ImageRequest.Priority) {
        mailbox.post(.prioritize(self, priority))
    }

    func setLimits(_ limits: TransportRequest.Limits) {
        mailbox.post(.limit(self, limits))
    }
}

// MARK: Events from libcurl

extension Exchange {
    /// The engine has changed the limits.
    func apply(_ limits: TransportRequest.Limits) {
        request.limits = limits
        timeouts = Timeouts(limits)
    }

    /// The maximum number of interim responses. More are treated as an attack.
    private static let maximumInterimHeads = 64

    /// Whether the request may be sent again at once, because its stream was refused. The engine's retry policy waits
    /// longer between its attempts.
    var mayResend: Bool {
        // libcurl does not say whether the origin refused the stream or has processed the request.
        RetryPolicy.isIdempotent(request.method) && !hasResponseBytes && resends < StreamWindow.maximumResends
            && resendsAlone < StreamWindow.maximumResendsAlone
    }

    /// All lines of a head have arrived. Returns false if the transfer must stop, for the reason in ``stop``.
    func didReceive(_ outcome: HeadParser.Outcome, at now: Int64) -> Bool {
        lastActivity = now
        hasResponseBytes = true
        isWithinHead = false
        switch outcome {
        case .interim(let head):
            interimHeads += 1
            guard interimHeads <= Self.maximumInterimHeads else {
                return didReceive(
                    .malformed("more than \(Self.maximumInterimHeads) interim responses"), at: now)
            }
            receiver?.didReceive(interim: head)
            return true
        case .malformed(let problem):
            stop = failure(.badResponse, "The response is malformed: \(problem).")
            return false
        case .final(let head, let framing):
            hasHead = true
            site?.speaksHTTP1 = head.version != .http2
            deliverTimings()
            return didReceive(head, framing)
        }
    }

    /// The first lines of a head count as activity, later ones do not. A head must end within the stall timeout, so
    /// that a server cannot hold an exchange forever by sending line after line.
    func noteLines(at now: Int64) {
        guard let lines = easy?.headLines, lines != seenLines else { return }
        seenLines = lines
        hasResponseBytes = true
        if !hasHead, !isWithinHead {
            isWithinHead = true
            lastActivity = now
        }
    }

    func didReceiveTooMuch(inTrailers: Bool) {
        hasResponseBytes = true
        let what = inTrailers ? "The response trailer" : "The response header"
        stop = failure(
            .badResponse,
            "\(what) is longer than \(request.limits.maximumHeadBytes) bytes. "
                + "The server may be broken or malicious. The response was discarded.")
    }

    /// Forgets the connection whose origin did not process the request, before the request is sent over another one.
    func forgetConnection() {
        phase = .connecting
        (hasOpenedSocket, isOnReusedConnection, lacksDescriptors) = (false, false, false)
        (connectingSince, uploadedBytes) = (0, 0)
        (refusedAddress, stop, isRefusedOverHTTP2, isRefusedStream) = (nil, nil, false, false)
    }

    /// Delivers the timings once, if the request wants them. Call it while libcurl's handle is still attached.
    func deliverTimings() {
        guard request.wantsTimings, !hasDeliveredTimings, let easy, addedAt > 0 else { return }
        hasDeliveredTimings = true
        receiver?.didReceive(easy.timings(addedAfter: addedAt - startedAt, isReused: isOnReusedConnection))
    }

    private func didReceive(_ head: ResponseHead, _ framing: HeadParser.Framing) -> Bool {
        let hasNoBody = request.method == "HEAD" || head.status == 204 || head.status == 304
        let expected = framing.isChunked || hasNoBody ? nil : framing.contentLength
        isCoded = framing.isCoded && !hasNoBody
        if isCoded { easy?.watchProgress(true) }
        if let expected, expected > request.limits.maximumBodyBytes {
            stop = tooLarge("The announced body length is \(expected) bytes")
            return false
        }
        return apply(receiver?.didReceive(head, expectedBytes: expected) ?? .cancel)
    }

    enum Intake {
        case taken
        case refused
        case stop
    }

    func didReceive(body bytes: UnsafeRawBufferPointer, at now: Int64) -> Intake {
        if isPaused {
            holdsBytes = true
            return .refused
        }
        lastActivity = now
        guard hasHead else {
            stop = failure(.badResponse, "The response is malformed: a body without a header.")
            return .stop
        }
        guard Int64(bytes.count) <= request.limits.maximumBodyBytes - bodyBytes else {
            stop = tooLarge(isCoded ? "After content decoding, the body is too long" : "The body is too long")
            return .stop
        }
        let offset = bodyBytes
        bodyBytes += Int64(bytes.count)
        return apply(unsafe receiver?.didReceive(bytes, at: offset) ?? .cancel) ? .taken : .stop
    }

    /// Bytes of a coded body have arrived on the wire, whether or not they decode to anything.
    func didProgress(wireBytes: Int64, at now: Int64) -> Bool {
        if wireBytes != lastWireBytes {
            lastWireBytes = wireBytes
            lastActivity = now
        }
        guard wireBytes > request.limits.maximumBodyBytes else { return true }
        if stop == nil { stop = tooLarge("Before content decoding, the body is too long") }
        return false
    }

    private func apply(_ disposition: TransportDisposition) -> Bool {
        switch disposition {
        case .proceed: return true
        case .pause:
            isPaused = true
            return true
        case .cancel:
            stop = cancelled
            return false
        }
    }
}

// MARK: Errors

extension Exchange {
    var cancelled: LoadError { failure(.cancelled, "The request was cancelled.") }

    func failure(_ code: LoadError.Code, _ message: String) -> LoadError {
        LoadError(code, stage: .fetch, url: request.url.string, message: message)
    }

    func tooLarge(_ what: String) -> LoadError {
        failure(
            .tooLarge,
            "\(what); the limit is \(request.limits.maximumBodyBytes) bytes. Raise maximumBodyBytes."
        )
    }
}
