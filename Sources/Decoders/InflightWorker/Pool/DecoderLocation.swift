internal import Glibc
import InflightCore

/// The location of the decoder program.
enum DecoderLocation {
    /// - Throws: ``LoadError/Code/decoderUnavailable``, with the paths searched, if there is no such program.
    static func find(_ path: String?, suffix: String) throws(LoadError) -> String {
        let places = [path ?? environment].compactMap(\.self)
        let usual = places.isEmpty ? installed : places
        let candidates = suffix.isEmpty ? usual : usual.map { $0 + suffix } + usual
        if let found = candidates.first(where: { unsafe access($0, X_OK) == 0 }) { return found }
        throw LoadError(
            .decoderUnavailable, stage: .decode,
            message: "No decoder program at \(candidates.joined(separator: " or ")). Install inflight-decoder "
                + "there, set INFLIGHT_DECODER to its path, or decode in this process.")
    }

    /// Programs that use the library may be installed anywhere, without a decoder of their own.
    private static var installed: [String] {
        ProgramLocation.besideProgram("inflight-decoder")
            + ["/usr/local", "/usr"].map { "\($0)/libexec/inflight/inflight-decoder" }
    }

    private static var environment: String? {
        guard let value = unsafe getenv("INFLIGHT_DECODER") else { return nil }
        let path = unsafe String(cString: value)
        return path.isEmpty ? nil : path
    }

}
