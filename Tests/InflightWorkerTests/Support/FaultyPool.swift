import Glibc
import InflightConcurrency
import InflightCore
import InflightWorker

/// What was built with these tests: it lies beside their bundle.
enum BuiltProgram {
    static func path(_ name: String) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        precondition(count > 0)
        let own = String(decoding: buffer[..<count], as: UTF8.self)
        return String(own[..<own.lastIndex(of: "/")!]) + "/" + name
    }
}

extension DecoderPool {
    /// Of decoders that do to order what decoders must not: see `FaultyCodec`.
    static func faulty(_ change: (inout DecoderConfiguration) -> Void = { _ in }) -> DecoderPool {
        var configuration = DecoderConfiguration(path: BuiltProgram.path("FaultyDecoder"))
        change(&configuration)
        return DecoderPool(configuration)
    }

    /// On a thread of its own: the pool's would be missed by others.
    private func apart<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let bridge = ValueBridge<Value>()
        let threads = WorkerThreads(count: 1, name: "test")
        threads.run { bridge.open(with: body()) }
        return await bridge.value()
    }

    func order(
        _ text: String, options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
    ) async throws(LoadError) -> PixelBuffer {
        try await apart {
            Result { () throws(LoadError) in
                try self.decode(
                    Bytes(text), format: ImageFormat(rawValue: "fault"), options: options, cancellation: cancellation)
            }
        }.get()
    }

    /// What became of it; `nil`: a picture.
    func failure(_ text: String, cancellation: CancellationFlag = CancellationFlag()) async -> LoadError? {
        await apart { self.blockingFailure(text, cancellation: cancellation) }
    }

    /// The same, on the calling thread.
    func blockingFailure(_ text: String, cancellation: CancellationFlag = CancellationFlag()) -> LoadError? {
        do throws(LoadError) {
            _ = try decode(
                Bytes(text), format: ImageFormat(rawValue: "fault"), options: DecodeOptions(),
                cancellation: cancellation)
            return nil
        } catch {
            return error
        }
    }
}
