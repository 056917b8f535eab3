public import Inflight
public import InflightTestSupport

/// What one thread moves by itself, so that nothing else is timed: a transport without a network, a decoder of one
/// pixel, and the queue of the callbacks.
public struct Stage {
    public let hand = Hand()
    public let transport = ScriptedTransport(.manual, records: false)
    public let queue: CallbackQueue

    public init() {
        queue = .executor(hand)
        let picture = Bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 100))
        transport.serveOthers { _ in .ok(picture) }
    }

    /// Of a pipeline over this transport, with decodes that the thread runs too.
    ///
    /// - Parameter memory: for decoded pictures, in bytes.
    public func configuration(memory: Int = 0) -> ImagePipeline.Configuration {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([OnePixelCodec()]))
        configuration.memoryCache = MemoryCacheConfiguration(limit: memory, reactsToMemoryPressure: false)
        configuration.decodeExecutor = hand
        return configuration
    }

    /// Runs until nothing is left to do.
    public func finish() {
        var isBusy = true
        while isBusy { isBusy = transport.finishAll() > 0 || hand.turn() }
    }
}
