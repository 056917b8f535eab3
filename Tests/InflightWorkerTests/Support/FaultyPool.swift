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

    func order(
        _ text: String, options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        try decode(
            Bytes(text), format: ImageFormat(rawValue: "fault"), options: options, cancellation: cancellation)
    }

    /// What became of it; `nil`: a picture.
    func failure(_ text: String, cancellation: CancellationFlag = CancellationFlag()) -> LoadError? {
        do throws(LoadError) {
            _ = try order(text, cancellation: cancellation)
            return nil
        } catch {
            return error
        }
    }
}
