import InflightConcurrency
import InflightCore
import InflightTestSupport
import InflightWorker

extension DecoderPool {
    /// Creates a pool of decoders that misbehave on command: see `FaultyCodec`.
    static func faulty(
        clock: any EngineClock = SystemClock(), _ change: (inout DecoderConfiguration) -> Void = { _ in }
    ) -> DecoderPool {
        var configuration = DecoderConfiguration(path: BuiltProgram.path("FaultyDecoder"))
        change(&configuration)
        return DecoderPool(
            configuration, suffix: "", protections: ProtectionCheck(configuration), clock: clock)
    }

    func order(
        _ text: String, options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
    ) async throws(LoadError) -> PixelBuffer {
        try await DedicatedThread.run {
            Result { () throws(LoadError) in
                try self.decode(
                    Bytes(text), format: ImageFormat(rawValue: "fault"), options: options, cancellation: cancellation)
            }
        }.get()
    }

    /// Returns the error of a decode, or `nil` if it returned an image.
    func failure(_ text: String, cancellation: CancellationFlag = CancellationFlag()) async -> LoadError? {
        await DedicatedThread.run { self.blockingFailure(text, cancellation: cancellation) }
    }

    /// Does the same on the calling thread.
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
