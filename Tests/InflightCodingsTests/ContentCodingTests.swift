import InflightTestSupport
import Testing

@testable import InflightCodings
@testable import InflightCore

@Suite("Content codings", .timeLimit(.minutes(10)))
struct ContentCodingTests {
    private static let codings = AcceptedCodings(ContentCodings.standard)

    /// Decodes `bytes` by the `Content-Encoding` field value `field`, in pieces of at most `pieces` bytes.
    private func decode(
        _ bytes: [UInt8], _ field: String, pieces: Int = .max, limit: Int = .max, between: Int64 = .max
    ) throws(ContentCodingError) -> String {
        guard case .coded(let decoders) = Self.codings.decoderChain(for: HTTPFields([("Content-Encoding", field)]))
        else {
            Issue.record("\(field) is not known")
            return ""
        }
        let body = CodedBody(decoders, limit: between)
        var decoded: [UInt8] = []
        var start = 0
        repeat {
            let end = pieces < bytes.count - start ? start + pieces : bytes.count
            let piece = Bytes(Array(bytes[start..<end]))
            try unsafe piece.withUnsafeBytes { piece throws(ContentCodingError) in
                try unsafe body.decode(piece) { part in
                    unsafe decoded.append(contentsOf: part)
                    return decoded.count <= limit
                }
                if body.hasMore { throw .stopped }
            }
            start = end
        } while start < bytes.count
        try body.finish()
        return String(decoding: decoded, as: UTF8.self)
    }

    /// Describes itself without its bytes, which would flood a failure message.
    struct Sample: CustomTestStringConvertible {
        let field: String
        let bytes: [UInt8]

        var testDescription: String { "\(field), \(bytes.count) bytes" }
    }

    private static let samples = [
        Sample(field: "gzip", bytes: Samples.gzip), Sample(field: "X-GZip", bytes: Samples.gzip),
        Sample(field: "deflate", bytes: Samples.framed), Sample(field: "deflate", bytes: Samples.unframed),
        Sample(field: "br", bytes: Samples.brotli), Sample(field: "zstd", bytes: Samples.zstandard),
        Sample(field: "identity, gzip , identity", bytes: Samples.gzip),
    ]

    @Test("A coded body decodes in pieces of any size", arguments: samples)
    func undone(sample: Sample) throws {
        for pieces in [Int.max, 1, 7] {
            #expect(try decode(sample.bytes, sample.field, pieces: pieces) == Samples.text)
        }
    }

    @Test("A body truncated at any length fails to decode, except between gzip members", arguments: samples)
    func truncated(sample: Sample) {
        let (field, bytes) = (sample.field, sample.bytes)
        for count in 1..<bytes.count {
            // Between two gzip members, the bytes are complete.
            if let text = try? decode(Array(bytes[..<count]), field) {
                #expect(field.contains("ip") && text == Samples.text.prefix(900), "\(count) bytes gave \(text.count)")
            }
        }
    }

    @Test("Padding after a gzip body is ignored, even if it looks like another member")
    func padding() throws {
        let padding: [UInt8] = [0, 0x1F, 0x8B, 8, 0]
        for pieces in [Int.max, 1, 2, 3, Samples.gzip.count + 1] {
            #expect(try decode(Samples.gzip + padding, "gzip", pieces: pieces) == Samples.text, "pieces of \(pieces)")
        }
    }

    @Test("An empty body decodes to an empty body", arguments: ["gzip", "deflate", "br", "zstd"])
    func empty(field: String) throws {
        #expect(try decode([], field) == "")
    }

    @Test("Decoding a corrupt body neither crashes nor hangs", arguments: samples)
    func damaged(sample: Sample) {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            var bytes = sample.bytes
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            _ = try? decode(bytes, sample.field, limit: 1 << 20)
        }
    }

    @Test("A body in none of the codings fails to decode")
    func none() {
        for field in ["gzip", "deflate", "br", "zstd"] {
            #expect(throws: ContentCodingError.self) { try decode(Array("hello, hello".utf8), field) }
        }
    }

    @Test("Zstandard frames older than RFC 8878 are rejected, and skippable frames are skipped")
    func oldZstandard() {
        for magic in Array(0x1E...0x27) as [UInt8] {
            // Also after a complete frame.
            for start in [[], Samples.zstandard] as [[UInt8]] {
                for pieces in [1, 3, 1000] {
                    let bytes = start + [magic, 0xB5, 0x2F, 0xFD, 0x00, 0x2F, 0xFD, 0x20, 0x05]
                    #expect(throws: ContentCodingError.damaged) { try decode(bytes, "zstd", pieces: pieces) }
                }
            }
        }
        let skipped: [UInt8] = [0x5F, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]
        for pieces in [1, 3, 1000] {
            let text = try? decode(skipped + Samples.zstandard + skipped, "zstd", pieces: pieces)
            #expect(text == Samples.text, "\(pieces)")
        }
    }

    @Test("A Zstandard frame header that looks like a skippable frame is a header, however it is split")
    func ambiguousZstandard() {
        // A frame of 6477 bytes with an empty last block, and two bytes that are no frame.
        let bytes: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 0]
        for pieces in 1...bytes.count {
            #expect(throws: ContentCodingError.damaged) { try decode(bytes, "zstd", pieces: pieces) }
        }
    }

    @Test("Zero padding after a gzip body is ignored")
    func padded() throws {
        #expect(try decode(Samples.gzip + [0, 0, 0, 0], "gzip", pieces: 5) == Samples.text)
    }

    @Test("Nested codings are decoded in reverse order of the field")
    func nested() throws {
        // A zlib stream without compression: header, one stored block, checksum (RFC 1950, RFC 1951).
        let inner = Samples.gzip
        var a: UInt32 = 1
        var b: UInt32 = 0
        for byte in inner {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        let length = UInt16(inner.count)
        var outer: [UInt8] = [0x78, 0x01, 0x01]
        for word in [length, ~length] { outer += [UInt8(word & 0xFF), UInt8(word >> 8)] }
        outer += inner
        for shift in [24, 16, 8, 0] as [UInt32] { outer.append(UInt8(truncatingIfNeeded: (b << 16 | a) >> shift)) }
        #expect(try decode(outer, "gzip, deflate") == Samples.text)
    }

    @Test("Decoding stops when the consumer accepts no more output")
    func stopped() {
        #expect(throws: ContentCodingError.stopped) {
            try decode(Gzip.zeros(runs: 40_000), "gzip", limit: 100_000)
        }
        #expect(throws: ContentCodingError.stopped) { try decode(Samples.gzip, "gzip", limit: 10) }
    }

    @Test("The bytes between two codings are limited, even if the second one drops them")
    func bytesBetween() {
        let blocks = Gzip.stored(Gzip.emptyBlocks(1000))
        #expect(throws: ContentCodingError.truncated) { try decode(blocks, "deflate, gzip", between: 5000) }
        for pieces in [Int.max, 7] {
            #expect(throws: ContentCodingError.stopped) {
                try decode(blocks, "deflate, gzip", pieces: pieces, between: 4999)
            }
        }
    }

    @Test("A Zstandard frame with a window of 16 MiB is rejected")
    func window() {
        #expect(throws: ContentCodingError.damaged) { try decode(Samples.wideWindow, "zstd") }
    }

    @Test("Names of charsets and of no coding are skipped, and decoding stops at an unknown coding")
    func unknown() throws {
        for field in ["rot13", "gzip, rot13", "gzip, , g zip", "identity, ", "none", "gzip, \u{E9}"] {
            guard case .plain = Self.codings.decoderChain(for: HTTPFields([("Content-Encoding", field)])) else {
                Issue.record("\(field) is decoded")
                continue
            }
        }
        for field in ["rot13, gzip", "gzip, none", "aws-chunked,gzip", "UTF-8, gzip, Windows-1251", "rot13, gzip, ,"] {
            #expect(try decode(Samples.gzip, field) == Samples.text, "\(field)")
        }
    }

    @Test("At most four codings are decoded, however many other names there are")
    func many() throws {
        let gzips = { Array(repeating: "gzip", count: $0).joined(separator: ", ") }
        for (field, isTooLong) in [
            (gzips(4), false), (gzips(5), true), (gzips(100), true), (gzips(100) + ", rot13, gzip", false),
        ] {
            let chain = Self.codings.decoderChain(for: HTTPFields([("Content-Encoding", field)]))
            if case .tooMany(limit: 4) = chain { #expect(isTooLong) } else { #expect(!isTooLong) }
        }
        let nones = Array(repeating: "none", count: 100).joined(separator: ",")
        #expect(try decode(Samples.gzip, "\(nones), gzip, \(nones)") == Samples.text)
    }

    @Test("Accept-Encoding lists the standard codings, and is absent without codings")
    func accepted() {
        #expect(Self.codings.accepted == "gzip, deflate, br, zstd")
        #expect(AcceptedCodings([]).accepted == nil)
    }
}
