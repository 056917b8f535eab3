import InflightImages

@testable import InflightCodings
@testable import InflightCore

extension Target {
    private static let limit = 1 << 20

    private struct Decoded: Equatable {
        var bytes: [UInt8] = []
        var failure: ContentCodingError?

        var succeeds: Bool { failure == nil }
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

    private static let codings = AcceptedCodings(ContentCodings.standard)

    /// The values of `Content-Encoding`, one per line, then an empty line and the body.
    static let contentCodings = Target(name: "content-codings") { bytes in
        let lines = bytes.lines
        let values = Array(lines.prefix { !$0.isEmpty })
        let body = lines.dropFirst(values.count + 1).first.map { Array(bytes[$0.startIndex...]) } ?? []
        let fields = HTTPFields("Content-Encoding", values)
        let result = decode(body, fields)
        require(codings.isCoded(fields) == (result != nil), "a body is decoded if its fields say so")
        require(decode(body, fields, pieces: 3)?.succeeds == result?.succeeds, "success does not depend on the pieces")
        let joined = HTTPFields("Content-Encoding", [ArraySlice(values.joined(separator: [UInt8.comma]))])
        require(decode(body, joined) == result, "lines equal one line with commas")
        let skipped = [ArraySlice("none, aws-chunked".utf8)] + values + [ArraySlice(" UTF-8,,identity".utf8)]
        require(decode(body, HTTPFields("Content-Encoding", skipped)) == result, "names of no coding change nothing")
        let unknown = HTTPFields("Content-Encoding", values + [ArraySlice("rot13".utf8)])
        require(!codings.isCoded(unknown), "nothing before an unknown coding is decoded")
    }

    /// Returns the decoded body; `nil` if it is not coded. With too many codings, decoding fails at once.
    private static func decode(_ bytes: [UInt8], _ fields: HTTPFields, pieces: Int = .max) -> Decoded? {
        var decoded = Decoded()
        let decoders: [any ContentDecoder]
        switch codings.decoderChain(for: fields) {
        case .plain: return nil
        case .coded(let chain): decoders = chain
        case .tooMany, .outOfMemory:
            decoded.failure = .stopped
            return decoded
        }
        require((1...4).contains(decoders.count), "there are 1 to 4 codings")
        let coded = CodedBody(decoders, limit: Int64(limit))
        do throws(ContentCodingError) {
            for start in stride(from: 0, to: bytes.count, by: min(pieces, max(1, bytes.count))) {
                let piece = Bytes(Array(bytes[start..<min(start + min(pieces, bytes.count), bytes.count)]))
                try unsafe piece.withUnsafeBytes { piece throws(ContentCodingError) in
                    try unsafe coded.decode(piece) { part in
                        guard part.count <= limit - decoded.bytes.count else { return false }
                        unsafe decoded.bytes.append(contentsOf: part)
                        return true
                    }
                }
                if coded.hasMore { throw .stopped }
            }
            let isComplete = coded.isComplete
            do throws(ContentCodingError) {
                try coded.finish()
            } catch {
                require(!isComplete, "a complete body can be finished")
                throw error
            }
        } catch {
            decoded.failure = error
        }
        require(decoded.bytes.count <= limit, "the output is within the limit")
        return decoded
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
