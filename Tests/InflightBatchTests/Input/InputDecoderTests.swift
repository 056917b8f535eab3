import Testing

@testable import InflightBatch

@Suite("Input: compression", .timeLimit(.minutes(10)))
struct InputDecoderTests {
    private static let text = "http://a.example\nhttp://b.example\n"

    /// Decodes an input in chunks.
    private func decode(_ chunks: [ArraySlice<UInt8>]) throws(InputError) -> [UInt8] {
        var decoder = InputDecoder()
        var result: [UInt8] = []
        for chunk in chunks {
            decoder.append(chunk)
            while let piece = try decoder.next() { result += piece }
        }
        decoder.end()
        while let piece = try decoder.next() { result += piece }
        return result
    }

    private static let samples: [[UInt8]] = [
        Array(text.utf8), Compressed.gzip(text), Compressed.zstd(text),
        Compressed.gzip("http://a.example\n") + Compressed.gzip("http://b.example\n"),
        Compressed.zstd("http://a.example\n") + Compressed.zstd("http://b.example\n"),
        // A skippable frame comes first, as parallel compressors write it.
        [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 9, 9, 9, 9] + Compressed.zstd(text),
        Compressed.gzip(text) + [0, 0, 0],
    ]

    @Test("The result does not depend on how the input is cut", arguments: samples.indices)
    func cuts(index: Int) throws {
        let bytes = Self.samples[index]
        let expected = Array(Self.text.utf8)
        #expect(try decode(bytes.indices.map { bytes[$0...$0] }) == expected)
        for position in bytes.indices { #expect(try decode([bytes[..<position], bytes[position...]]) == expected) }
    }

    @Test(
        "A short input without compression is returned",
        arguments: [[], [0x1F], [0x28, 0xB5], [0x50, 0x2A, 0x4D]] as [[UInt8]])
    func short(bytes: [UInt8]) throws {
        #expect(try decode([bytes[...]]) == bytes)
    }

    @Test("Compressed data truncated at any byte is an error that names the compression")
    func truncated() {
        for (bytes, start, error) in [
            (Compressed.gzip(Self.text), 2, InputError.truncated(.gzip)),
            (Compressed.zstd(Self.text), 4, .truncated(.zstd)),
        ] {
            for count in start..<bytes.count {
                #expect(throws: error, "\(count) bytes") { try decode([bytes[..<count]]) }
            }
        }
    }

    @Test("Corrupt compressed data is an error that names the compression")
    func corrupt() {
        var gzip = Compressed.gzip(Self.text)
        gzip[20] ^= 1
        #expect(throws: InputError.corrupt(.gzip)) { try decode([gzip[...]]) }
        let zstd = Compressed.zstd(Self.text) + Array("url\n".utf8)
        #expect(throws: InputError.corrupt(.zstd)) { try decode([zstd[...]]) }
        let wide = Compressed.zstdFrame([[0x09, 0, 0, 0x0A]], window: 0x88)
        #expect(throws: InputError.corrupt(.zstd)) { try decode([wide[...]]) }
    }

    @Test("All that the bytes so far decode to is returned before more are needed")
    func complete() throws {
        var decoder = InputDecoder()
        let bytes = Compressed.zstd(UInt8(ascii: "a"), blocks: 2)
        decoder.append(bytes.dropLast(4))
        var size = 0
        while let piece = try decoder.next() { size += piece.count }
        #expect(size == 128 << 10)
    }

    @Test("The pieces of highly compressed data stay small")
    func bounded() throws {
        var decoder = InputDecoder()
        let bytes = Compressed.zstd(UInt8(ascii: "a"), blocks: 200)
        decoder.append(bytes[...])
        var size = 0
        while let piece = try decoder.next() {
            #expect(piece.count <= 64 << 10)
            size += piece.count
        }
        #expect(size == 200 * 128 << 10 && bytes.count < 1000)
    }
}
