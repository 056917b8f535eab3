internal import Glibc
import InflightCore

/// The location of the decoder program.
enum DecoderLocation {
    /// - Throws: ``LoadError/Code/decoderUnavailable``, with the paths searched, if there is no such program.
    static func find(_ path: String?, suffix: String) throws(LoadError) -> String {
        let places = [path ?? environment].compactMap(\.self)
        let usual = places.isEmpty ? besideProgram : places
        let candidates = suffix.isEmpty ? usual : usual.map { $0 + suffix } + usual
        if let found = candidates.first(where: { unsafe access($0, X_OK) == 0 }) { return found }
        throw LoadError(
            .decoderUnavailable, stage: .decode,
            message: "No decoder program at \(candidates.joined(separator: " or ")). Install inflight-decoder "
                + "there, set INFLIGHT_DECODER to its path, or decode in this process.")
    }

    private static var environment: String? {
        guard let value = unsafe getenv("INFLIGHT_DECODER") else { return nil }
        let path = unsafe String(cString: value)
        return path.isEmpty ? nil : path
    }

    private static var besideProgram: [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let installed = ["/usr/local", "/usr"].map { "\($0)/libexec/inflight/inflight-decoder" }
        // Without /proc the program's folder is unknown. The working folder may hold programs of another user.
        guard count > 0, count < buffer.count else { return installed }
        let parts = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "/").dropLast()
        let folder = parts.map { "/" + $0 }.joined()
        let above = parts.dropLast().map { "/" + $0 }.joined()
        return ["\(folder)/inflight-decoder", "\(above)/libexec/inflight/inflight-decoder"] + installed
    }
}
