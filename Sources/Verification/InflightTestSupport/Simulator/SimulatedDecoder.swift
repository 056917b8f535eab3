internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// The contents of a simulated body: PNG's signature, so that its format is recognized, and its identity.
struct SimulatedBody {
    static let count = 16
    /// The length of a storable body, long enough to be interrupted.
    static let servedCount = 32
    static let damaged: UInt8 = 1
    static let huge: UInt8 = 2

    var content: Content
    var flags: UInt8

    var bytes: [UInt8] {
        let serial = UInt16(truncatingIfNeeded: content.exchange)
        return [
            0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, content.resource, content.language, UInt8(serial & 255),
            UInt8(serial >> 8), flags, UInt8(content.version & 255), UInt8(content.version >> 8 & 255), 0,
        ]
    }

    /// Returns the bytes with a tail that contains their version.
    func filled(to count: Int) -> [UInt8] {
        bytes + [UInt8](repeating: UInt8(content.version & 255), count: count - Self.count)
    }

    /// Writes the number of its delivery into a body.
    static func mark(_ body: inout [UInt8], delivery: Int) {
        body[10] = UInt8(delivery & 255)
        body[11] = UInt8(delivery >> 8 & 255)
    }

    init(content: Content, flags: UInt8) {
        self.content = content
        self.flags = flags
    }

    init(_ bytes: Bytes) {
        self = unsafe bytes.withUnsafeBytes { bytes in
            var version = unsafe Int(bytes[13]) | Int(bytes[14]) << 8
            if bytes.count > Self.count {
                // The body must be complete, and all its bytes must be of one version.
                for index in [Self.count, bytes.count / 2, bytes.count - 1] {
                    if unsafe bytes[index] != bytes[13] { version = -1 }
                }
                if bytes.count != Self.servedCount, bytes.count % 50 > 0 { version = -1 }
            }
            return unsafe SimulatedBody(
                content: Content(
                    resource: bytes[8], language: bytes[9], exchange: Int(bytes[10]) | Int(bytes[11]) << 8,
                    version: version),
                flags: bytes[12])
        }
    }
}

/// The content as an image of three pixels that identify it.
extension Content {
    init(_ pixels: PixelBuffer) {
        self = unsafe pixels.withUnsafeBytes { bytes in
            unsafe Content(
                resource: bytes[0], language: bytes[1], exchange: Int(bytes[2]) | Int(bytes[3]) << 8, size: bytes[4],
                first: bytes[5], second: bytes[6],
                version: bytes[10] == 0 ? Int(bytes[8]) | Int(bytes[9]) << 8 : -1)
        }
    }

    var pixels: PixelBuffer {
        let bytes: [UInt8] = [
            resource, language, UInt8(exchange & 255), UInt8(exchange >> 8 & 255), size, first, second, 255,
            UInt8(version & 255), UInt8(version >> 8 & 255), version < 0 ? 1 : 0, 255,
        ]
        return PixelBuffer(width: 3, height: 1, bytesPerRow: 12, format: .rgbx, bytes: Bytes(bytes))
    }
}

/// A codec whose results and decode times the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedCodec: ImageCodec, @unchecked Sendable {
    private unowned let world: World

    init(_ world: World) {
        self.world = world
    }

    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        // The engine probes before every decode to estimate its cost. The probe makes no draw, because draws
        // are for choices.
        if isComplete || !world.context.isWorking { world.poke() }
        guard bytes.count >= SimulatedBody.count else { return .needsMoreBytes(SimulatedBody.count) }
        let body = SimulatedBody(bytes)
        let isHuge = body.flags & SimulatedBody.huge != 0
        // The engine also probes a body before it stores it.
        if isHuge, isComplete, world.context.isWorking {
            world.model.imageIsRefused(exchange: body.content.exchange, .tooManyPixels)
        }
        // The width identifies the exchange to a caller that requests only the header.
        return .info(
            ImageInfo(
                format: .png, storedWidth: body.content.exchange + 1, storedHeight: isHuge ? 1_000_000_000 : 1))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let body = SimulatedBody(bytes)
        var content = body.content
        content.size = UInt8(options.resize?.width ?? 0)
        world.model.decodeBegins()
        defer { world.model.decodeEnds() }
        try world.work(on: content, of: nil, isDamaged: body.flags & SimulatedBody.damaged != 0, cancellation)
        return content.pixels
    }

    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        world.context.isPreviewing = true
        world.model.previewBegins()
        defer { world.model.previewEnds() }
        world.poke()
        world.interleave(in: 2)
        if world.draws.once(in: 8) { throw LoadError(.damaged, stage: .decode, message: "Simulated failure.") }
        guard bytes.count > detail, !world.draws.once(in: 8) else { return nil }
        var content = SimulatedBody(bytes).content
        content.size = UInt8(options.resize?.width ?? 0)
        return PartialImage(
            pixels: content.pixels, detail: bytes.count, coversAll: true, isFinal: world.draws.once(in: 8))
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.cannotEncode, stage: .encode, message: "Encoding is not supported.")
    }
}

/// A processor that writes its number into the image.
struct SimulatedProcessor: ImageProcessing {
    // Safe: the world outlives every task and job of its pipeline.
    unowned let world: World
    let number: UInt8
    /// The cache policy of the processor's request.
    let policy: ImageRequest.CachePolicy

    var identity: String {
        world.poke()
        if world.preparing >= 0 {
            let id = world.preparing
            world.preparing = -1
            world.interleave(in: 2)
            world.model.subscribes(id)
        }
        return number == 1 ? "p1" : "p2"
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        var content = Content(pixels)
        if content.first == 0 { content.first = number } else { content.second = number }
        try world.work(on: content, of: policy, isDamaged: false, cancellation)
        return content.pixels
    }
}

/// The decode lane's threads. The simulator decides when each closure runs.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedWorkExecutor: WorkExecutor, @unchecked Sendable {
    private unowned let world: World
    private var work: [(job: Int, body: @Sendable () -> Void)] = []

    init(_ world: World) {
        self.world = world
    }

    var isReady: Bool { !work.isEmpty }

    func run(_ work: @escaping @Sendable () -> Void) {
        let job = world.model.workIsDispatched()
        world.poke()
        self.work.append((job, work))
        world.interleave(in: 6)
    }

    func runOne() {
        let index = world.draws.below(work.count)
        let job = work[index].job
        var body: (@Sendable () -> Void)? = work.remove(at: index).body
        let before = world.context
        world.context = .init()
        world.context.isWorking = true
        world.context.job = job
        world.model.workBegins()
        body?()
        body = nil
        world.context = before
    }
}

extension World {
    /// Simulates a decode or a processor, which takes a while, may ignore its cancellation, and may fail.
    func work(
        on content: Content, of policy: ImageRequest.CachePolicy?, isDamaged: Bool, _ cancellation: CancellationFlag
    ) throws(LoadError) {
        if context.isPreviewing { return interleave(in: 4) }
        note(5, UInt64(content.exchange), "the pixel job of exchange \(content.exchange) begins")
        // Only this function knows whether anything else is running.
        let isOutermost = depth == 0
        let job = model.pixelsBegin(
            content, policy: policy, expected: context.job, pixels: 2, isOutermost: isOutermost)
        poke()
        interleave(in: 2)
        if isOutermost { model.saw(isCancelled: cancellation.isCancelled, inJob: job) }
        var failure: LoadError.Code?
        if cancellation.isCancelled, !draws.once(in: 3) {
            failure = .cancelled
        } else if isDamaged || draws.once(in: 16) {
            failure = .damaged
        }
        if failure == .damaged || cancellation.isCancelled { fault(\.pixels) }
        note(6, UInt64(content.exchange), "the pixel job of exchange \(content.exchange) ends")
        model.pixelsEnd(job, failure, varies: responsesVary[content.exchange])
        if let failure { throw LoadError(failure, stage: .decode, message: "Simulated failure.") }
    }
}
