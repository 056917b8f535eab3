@testable import InflightCodings
@testable import InflightCore

extension Target {
    private static let limit = 1 << 20

    private struct Decoded: Equatable {
        var bytes: [UInt8] = []
        var failure: ContentCodingError?
    }

    /// A content coding. The first byte is the size of the pieces, less one, in which the rest is decoded. The result
    /// must not depend on it.
    static func coding(_ name: String) -> Target {
        Target(name: name) { bytes in
            guard let first = bytes.first else { return }
            let rest = Array(bytes.dropFirst())
            guard let whole = decode(rest, pieces: rest.count, name),
                let inPieces = decode(rest, pieces: Int(first) + 1, name)
            else { return require(false, "a decoder can be created") }
            require(whole.bytes.count <= limit, "the output is within the limit")
            // The output before an error depends on the pieces, and so does the limit that is reached first.
            require((whole.failure == nil) == (inPieces.failure == nil), "success does not depend on the pieces")
            if whole.failure == nil { require(whole == inPieces, "the output does not depend on the pieces") }
        }
    }

    private static func decode(_ bytes: [UInt8], pieces: Int, _ name: String) -> Decoded? {
        let coding = ContentCodings.standard.first { $0.names.contains(name) }
        guard let decoder = coding?.makeDecoder() else { return nil }
        var decoded = Decoded()
        for start in stride(from: 0, to: bytes.count, by: max(1, pieces)) where decoded.failure == nil {
            let piece = bytes[start..<min(start + max(1, pieces), bytes.count)]
            unsafe piece.withUnsafeBytes { unsafe decode($0, decoder, into: &decoded) }
        }
        if decoded.failure == nil {
            do throws(ContentCodingError) { try decoder.finish() } catch { decoded.failure = error }
        }
        return decoded
    }

    private static func decode(
        _ piece: UnsafeRawBufferPointer, _ decoder: any ContentDecoder, into decoded: inout Decoded
    ) {
        do throws(ContentCodingError) {
            try unsafe decoder.decode(piece) { part in
                guard part.count <= limit - decoded.bytes.count else {
                    decoded.failure = .stopped
                    return false
                }
                unsafe decoded.bytes.append(contentsOf: part)
                return true
            }
        } catch {
            decoded.failure = error
        }
    }
}
