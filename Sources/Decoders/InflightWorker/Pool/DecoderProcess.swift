internal import CInflightWorker
import InflightConcurrency
import InflightCore

/// One decoder process, from its start to its end.
// Unchecked: one thread at a time uses it, the one that took it from its pool.
final class DecoderProcess: @unchecked Sendable {
    /// The capabilities that the decoder reported.
    let decodes: Set<ImageFormat>
    let encodes: Set<ImageFormat>
    let protections: Set<DecoderConfiguration.Protection>
    let missing: [String]

    private let requests: MessageSocket
    private let control: MessageSocket
    /// The process; `nil` once it was ended.
    private var process: Int32?
    private let clock: any EngineClock
    private var nextID = 0
    /// The decoder's input. The program writes it before each request, and never while one is in flight.
    private var input: SharedMemory?
    /// The decoder's output. The decoder can write it at any time, so results are copied before they are checked.
    private var output: SharedMemory?
    /// The total time for which the decoder was busy.
    private var busy = Duration.zero

    /// The total time after which a decoder is replaced. The system ends it some time later, so that a decoder that
    /// outlives its program cannot compute forever.
    private static let maximumBusyTime = Duration.seconds(120)
    private static let startTime = Duration.seconds(60)
    /// The time that a decode may continue after its cancel.
    private static let cancelTime = Duration.milliseconds(40)
    /// The interval between checks for a cancel, in milliseconds.
    private static let interval = 10

    /// Starts a decoder and waits until it is ready, some tens of milliseconds.
    ///
    /// - Throws: ``LoadError/Code/decoderUnavailable``; ``LoadError/Code/cancelled`` if `cancellation` is set before it
    ///   is ready.
    init(
        path: String, configuration: DecoderConfiguration, clock: any EngineClock, cancellation: CancellationFlag
    ) throws(LoadError) {
        let process: Int32
        (requests, control, process) = try Self.start(path)
        let limit = configuration.maximumDecodeTime + Self.maximumBusyTime
        let begin = DecoderRequest.begin(
            maximumMemory: configuration.maximumMemory,
            // CPU time counts all its threads.
            maximumSeconds: Int(limit.components.seconds) * MachineSize.processors + 60)
        let reply = requests.send(begin.message) ? Self.firstReply(requests, cancellation) : nil
        guard case .ready(let decodes, let encodes, let protections, let missing) = reply else {
            let ending = DecoderExit(inflight_end_process(process))
            if case .notReady(let message) = reply { throw Self.unavailable(path, message) }
            if reply == nil { try cancellation.check() }
            throw Self.unavailable(
                path, "it did not start: \(ending). Reinstall it and the libraries it needs")
        }
        self.process = process
        self.clock = clock
        self.decodes = Set(decodes)
        self.encodes = Set(encodes)
        self.protections = Set(protections)
        self.missing = missing
    }

    deinit {
        _ = end()
    }

    /// Starts the program. On return, only the process holds the other ends of the sockets, so this side is notified
    /// when the process ends.
    private static func start(_ path: String) throws(LoadError) -> (MessageSocket, MessageSocket, Int32) {
        guard let (requests, theirRequests) = MessageSocket.pair(), let (control, theirControl) = MessageSocket.pair()
        else { throw .tooManyOpenFiles(.decode) }
        let process = unsafe inflight_start_decoder(
            path, theirRequests.descriptor.number, theirControl.descriptor.number)
        if DescriptorLimit.isReached(-process) { throw .tooManyOpenFiles(.decode) }
        guard process >= 0 else { throw unavailable(path, "it cannot be started (error \(-process)). Reinstall it") }
        return (requests, control, process)
    }

    private static func firstReply(_ socket: MessageSocket, _ cancellation: CancellationFlag) -> DecoderReply? {
        let clock = SystemClock()
        let end = clock.now() + startTime
        while !socket.isReadable(within: interval) {
            if cancellation.isCancelled || clock.now() >= end { return nil }
        }
        guard case .message(let bytes, _) = socket.receive(upTo: 4096) else { return nil }
        return DecoderReply(bytes)
    }

    static func unavailable(_ path: String, _ what: String) -> LoadError {
        LoadError(.decoderUnavailable, stage: .decode, message: "Cannot use the decoder \(path): \(what).")
    }

    /// Whether the decoder can accept a request: it is running, has not reached its limit, and has no unread reply.
    var isFresh: Bool { process != nil && busy < Self.maximumBusyTime && !requests.isReadable(within: 0) }

    /// Ends the process immediately, even during a request.
    private func end() -> DecoderExit {
        guard let process = process.take() else { return DecoderExit(0) }
        return DecoderExit(inflight_end_process(process))
    }

    // MARK: Work

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, maximumTime: Duration,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        nextID += 1
        let id = nextID
        let request = DecoderRequest.decode(id: id, format: format, byteCount: bytes.count, options: options)
        let work = Work(id: id, stage: .decode, format: format, maximumTime: maximumTime, cancellation: cancellation)
        let (reply, shared) = try ask(request, bytes, work)
        guard case .pixels(id, let layout) = reply, let pixels = pixels(layout, options, shared) else {
            throw broken(work)
        }
        return pixels
    }

    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int, maximumTime: Duration,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        nextID += 1
        let id = nextID
        let request = DecoderRequest.decodePart(
            id: id, format: format, byteCount: bytes.count, options: options, beyond: detail)
        let work = Work(id: id, stage: .decode, format: format, maximumTime: maximumTime, cancellation: cancellation)
        let (reply, shared) = try ask(request, bytes, work)
        switch reply {
        case .noPart(id): return nil
        case .part(id, let layout, let found, let coversAll, let isFinal):
            guard found > detail, let pixels = pixels(layout, options, shared) else { break }
            return PartialImage(pixels: pixels, detail: found, coversAll: coversAll, isFinal: isFinal)
        default: break
        }
        throw broken(work)
    }

    func validate(_ bytes: Bytes, format: ImageFormat, maximumTime: Duration) throws(LoadError) {
        nextID += 1
        let work = Work(
            id: nextID, stage: .decode, format: format, maximumTime: maximumTime, cancellation: CancellationFlag())
        let (reply, _) = try ask(.validate(id: nextID, format: format, byteCount: bytes.count), bytes, work)
        guard reply == .valid(id: work.id) else { throw broken(work) }
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions, maximumTime: Duration) throws(LoadError) -> Bytes {
        nextID += 1
        let id = nextID
        let request = DecoderRequest.encode(id: id, layout: PixelLayout(pixels), options: options)
        let work = Work(
            id: id, stage: .encode, format: options.format, maximumTime: maximumTime, cancellation: CancellationFlag())
        let (reply, shared) = try ask(request, pixels.bytes, work)
        guard case .encoded(id, let count) = reply, let bytes = result(count, shared) else { throw broken(work) }
        return bytes
    }

    private func pixels(_ layout: PixelLayout, _ options: DecodeOptions, _ shared: Descriptor?) -> PixelBuffer? {
        layout.byteCount.flatMap { result($0, shared) }.flatMap { layout.checked($0, options) }
    }

    /// Returns a result of `count` bytes.
    ///
    /// - Parameter shared: The descriptor that came with the reply.
    private func result(_ count: Int, _ shared: Descriptor?) -> Bytes? {
        guard count <= SharedMemory.outputBytes else {
            return shared.flatMap { SharedMemory.sealed($0, byteCount: count) }
        }
        if let shared { output = SharedMemory.output(shared) }
        guard let output, count > 0 else { return nil }
        return unsafe Bytes(copying: UnsafeRawBufferPointer(start: output.base, count: count))
    }

    private struct Work {
        let id: Int
        let stage: LoadError.Stage
        let format: ImageFormat
        let maximumTime: Duration
        let cancellation: CancellationFlag
    }

    private func ask(
        _ request: DecoderRequest, _ bytes: Bytes, _ work: Work
    ) throws(LoadError) -> (DecoderReply, Descriptor?) {
        let began = clock.now()
        defer { busy += clock.now() - began }
        let shared = try provide(bytes, work)
        defer { if bytes.count > SharedMemory.maximumRetainedBytes { input = nil } }
        try send(request.message, shared, work, since: began)
        try wait(work, since: began)
        switch requests.receive(upTo: DecoderReply.maximumBytes) {
        case .end: throw crashed(work)
        case .broken: throw broken(work)
        case .message(let message, let descriptor):
            guard let reply = DecoderReply(message) else { throw broken(work) }
            if case .failure(work.id, let code, let message, let libraryText) = reply {
                throw failure(code, message, libraryText, work)
            }
            return (reply, descriptor)
        }
    }

    /// Copies bytes into shared memory. Returns its descriptor if the decoder does not have it yet.
    private func provide(_ bytes: Bytes, _ work: Work) throws(LoadError) -> Descriptor? {
        var shared: Descriptor?
        if input.map({ $0.byteCount < bytes.count }) ?? true {
            var size = 256 * 1024
            while size < bytes.count { size *= 2 }
            input = SharedMemory(byteCount: size)
            shared = input?.descriptor
        }
        guard let input else {
            if DescriptorLimit.available == 0 { throw .tooManyOpenFiles(work.stage) }
            throw LoadError(
                .tooManyPixels, stage: work.stage,
                message: "Cannot allocate shared memory for a decoder. Load fewer images at once.")
        }
        unsafe bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe input.base.copyMemory(from: start, byteCount: source.count)
        }
        return shared
    }

    /// Sends a request. A decoder that never reads has no room for it at some time.
    private func send(
        _ message: [UInt8], _ shared: Descriptor?, _ work: Work, since began: MonotonicTime
    ) throws(LoadError) {
        while true {
            switch requests.send(message, shared, within: Self.interval) {
            case .sent: return
            case .end: throw crashed(work)
            case .full: break
            }
            if work.cancellation.isCancelled {
                _ = end()
                throw CodecError.cancelled
            }
            try checkTime(work, since: began)
        }
    }

    /// Waits until a reply or the end of the process can be received.
    private func wait(_ work: Work, since began: MonotonicTime) throws(LoadError) {
        var cancelled: MonotonicTime?
        while !requests.isReadable(within: Self.interval) {
            let now = clock.now()
            if let cancelled, now - cancelled >= Self.cancelTime {
                _ = end()
                throw CodecError.cancelled
            }
            if cancelled == nil, work.cancellation.isCancelled {
                cancelled = now
                // Without room for it, the decoder is ended.
                _ = control.send(DecoderRequest.cancel(id: work.id).message, within: 0)
            }
            try checkTime(work, since: began)
        }
    }

    /// Ends the decoder if the work has taken longer than it may.
    private func checkTime(_ work: Work, since began: MonotonicTime) throws(LoadError) {
        guard clock.now() - began >= work.maximumTime else { return }
        _ = end()
        throw LoadError(
            .timedOut, stage: work.stage,
            message: "Decoding the \(work.format) image timed out after \(work.maximumTime). The image may be "
                + "malicious. Raise maximumDecodeTime if you trust the source.")
    }

    // MARK: Failures

    /// Returns the decoder's error if its code is one that decoders use.
    private func failure(_ code: String, _ message: String, _ libraryText: String?, _ work: Work) -> LoadError {
        let known: [LoadError.Code] = [
            .damaged, .unsupportedFormat, .tooManyPixels, .tooMuchMemory, .cancelled, .cannotEncode, .invalidRequest,
        ]
        func isPrintable(_ character: Character) -> Bool { !character.isNewline && character >= " " }
        guard let code = known.first(where: { $0.rawValue == code }) else { return broken(work) }
        return LoadError(
            code, stage: work.stage, message: message.filter(isPrintable),
            underlying: libraryText.map { LibraryError(text: $0.filter(isPrintable)) })
    }

    private func crashed(_ work: Work) -> LoadError {
        let ending = end()
        if work.cancellation.isCancelled { return CodecError.cancelled }
        return LoadError(
            .decoderCrashed, stage: work.stage,
            message: "The decoder process ended while decoding this \(work.format) image: \(ending). No other load is "
                + "affected. The image may be malicious.")
    }

    /// Ends a decoder that violated the protocol. Its reply is not used.
    private func broken(_ work: Work) -> LoadError {
        _ = end()
        return LoadError(
            .decoderCrashed, stage: work.stage,
            message: "The decoder process violated its protocol on this \(work.format) image and was ended. No other "
                + "load is affected. The image may be malicious.")
    }
}

extension PixelLayout {
    /// Returns the image if it is a possible result of the options.
    fileprivate func checked(_ bytes: Bytes, _ options: DecodeOptions) -> PixelBuffer? {
        guard let count = byteCount, count <= bytes.count,
            format == options.pixelFormat(hasAlpha: format.alpha != .opaque)
        else { return nil }
        let (pixelCount, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixelCount <= min(options.maximumPixels, ImageInfo.maximumPixels) else { return nil }
        return pixels(bytes)
    }
}
