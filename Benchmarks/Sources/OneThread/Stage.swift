public import Inflight
public import InflightTestSupport

/// A transport without a network, a one-pixel decoder and a callback queue that all run on the calling thread, so that
/// a measurement times nothing else.
public struct Stage {
    public let executor = ManualExecutor()
    public let transport = ScriptedTransport(.manual, records: false)
    public let queue: CallbackQueue

    public init() {
        queue = .executor(executor)
        let picture = Bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 100))
        transport.serveOthers { _ in .ok(picture) }
    }

    /// Returns a configuration that uses this transport, decoder and executor.
    ///
    /// - Parameter memory: the limit of the memory cache in bytes.
    public func configuration(memory: Int = 0) -> ImagePipeline.Configuration {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([OnePixelCodec()]))
        configuration.memoryCache = MemoryCacheConfiguration(limit: memory, reactsToMemoryPressure: false)
        configuration.decodeExecutor = executor
        return configuration
    }

    /// Runs transport, decodes and callbacks until no work is left.
    public func finish() {
        var isBusy = true
        while isBusy { isBusy = transport.finishAll() > 0 || executor.turn() }
    }
}
