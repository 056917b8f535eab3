import InflightConcurrency
import InflightImages
import Testing

@Suite(.timeLimit(.minutes(10)))
struct DetectionTests {
    static func box(_ brands: [String]) -> [UInt8] {
        [0, 0, 0, UInt8(12 + 4 * brands.count)] + Array("ftyp".utf8) + Array(brands[0].utf8) + [0, 0, 0, 0]
            + brands.dropFirst().flatMap { Array($0.utf8) }
    }

    static func utf16(_ text: String, isBigEndian: Bool = false) -> [UInt8] {
        text.utf16.flatMap { unit in
            let bytes = [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)]
            return isBigEndian ? bytes.reversed() : bytes
        }
    }

    static let samples: [(ImageFormat?, [UInt8])] = [
        (.jpeg, [0xFF, 0xD8, 0xFF, 0xE0]),
        (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        (.gif, Array("GIF87a".utf8)), (.gif, Array("GIF89a".utf8)), (nil, Array("GIF88a".utf8)),
        (.webp, Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBP".utf8)), (nil, Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVE".utf8)),
        (.avif, box(["avif", "mif1"])), (.avif, box(["mif1", "avif"])), (.heic, box(["heic", "mif1"])),
        (.heic, box(["mif1", "heic"])), (nil, box(["isom", "mp42"])),
        (.jpegXL, [0xFF, 0x0A, 0, 0]), (.jpegXL, [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20, 13, 10, 0x87, 10]),
        (.jpeg2000, [0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20, 13, 10, 0x87, 10]),
        (.tiff, [0x49, 0x49, 0x2A, 0]), (.tiff, [0x4D, 0x4D, 0, 0x2A]),
        (.bmp, Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0]),
        (nil, Array("BMW is a maker of cars".utf8)),
        (.ico, [0, 0, 1, 0, 1, 0, 16, 16, 0, 0]), (nil, [0, 0, 1, 0, 0, 0, 16, 16, 0, 0]),
        (.psd, Array("8BPS".utf8)), (.pdf, Array("%PDF-1.7".utf8)),
        (.svg, Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)),
        (.svg, Array("\u{FEFF}<?xml version='1.0'?>\n<!-- a > b -->\n<!DOCTYPE svg>\n<svg>".utf8)),
        (.svg, Array("<ns0:svg xmlns:ns0='http://www.w3.org/2000/svg'/>".utf8)), (.svg, Array("<svg:svg>".utf8)),
        (.svg, Array("<?xml version='1.0'?><?xml-stylesheet href='a.css'?><svg>".utf8)),
        (.svg, Array(("<!--" + String(repeating: "licence ", count: 4000) + "--><svg>").utf8)),
        (nil, Array(("<!--" + String(repeating: "licence ", count: 40_000) + "--><svg>").utf8)),
        (.svg, [0xFF, 0xFE] + utf16("<?xml version='1.0' encoding='UTF-16'?><svg>")),
        (.svg, [0xFE, 0xFF] + utf16("<svg>", isBigEndian: true)), (.svg, utf16("<svg>")),
        (nil, [0xFF, 0xFE] + utf16("<html>")), (nil, [0xFF, 0xFE] + utf16("hello")), (nil, [0xFF, 0xFE, 0x3C]),
        (nil, Array("<ns0:svgx>".utf8)), (nil, Array("<a><svg>".utf8)),
        (nil, Array("<svgx>".utf8)), (nil, Array("<!DOCTYPE html><svg>".utf8)), (nil, Array("<html><svg>".utf8)),
        (nil, Array("<!-- never ends".utf8)), (nil, []), (nil, [0xFF]), (nil, Array("hello".utf8)),
    ]

    @Test("The image format is detected from the first bytes", arguments: samples.indices)
    func detects(_ index: Int) {
        #expect(ImageFormat.detect(Bytes(Self.samples[index].1)) == Self.samples[index].0)
    }

    @Test("Detection does not read a truncated sample past its end")
    func prefixes() {
        for (_, bytes) in Self.samples {
            // Of a long comment, its start suffices.
            for length in 0...min(bytes.count, 2000) { _ = ImageFormat.detect(Bytes(Array(bytes[..<length]))) }
        }
    }

    @Test("A missing codec and bytes that are not an image throw different errors")
    func registry() {
        let none = CodecRegistry([])
        func failure(_ text: [UInt8]) -> LoadError? {
            do {
                _ = try none.probe(Bytes(text), isComplete: true)
                return nil
            } catch { return error }
        }
        #expect(failure([0xFF, 0xD8, 0xFF])?.code == .unsupportedFormat)
        #expect(failure([0xFF, 0xD8, 0xFF])?.message.contains("jpeg") == true)
        for (text, word) in [
            ("", "empty"), ("<!DOCTYPE html><p>", "HTML"), ("\n <HTML>", "HTML"), ("{\"error\": 1}", "JSON"),
            ("not here", "text"), ("<feed/>", "XML"), ("\u{1}\u{2}", "known image format"),
        ] {
            let error = failure(Array(text.utf8))
            #expect(error?.code == .notAnImage && error?.message.contains(word) == true)
        }
    }

    @Test("Probing requests more bytes until the format is known or the body is complete")
    func fewBytes() throws {
        let none = CodecRegistry([])
        let drawing = "\n<?xml version='1.0'?><!-- " + String(repeating: "-", count: 500) + " --><svg>"
        for length in [30, 100, 500] {
            #expect(try none.probe(Bytes(String(drawing.prefix(length))), isComplete: false) == .needsMoreBytes(1024))
        }
        let error = #expect(throws: LoadError.self) { try none.probe(Bytes(drawing), isComplete: false) }
        #expect(error?.code == .unsupportedFormat)
        // A comment may be long, but not endless.
        let comment = Bytes("<!--" + String(repeating: "-", count: 300_000))
        #expect(try none.probe(comment.part(0..<2000), isComplete: false) == .needsMoreBytes(4000))
        #expect(try none.probe(comment.part(0..<200_000), isComplete: false) == .needsMoreBytes(262_144))
        let refusal = #expect(throws: LoadError.self) { try none.probe(comment, isComplete: false) }
        #expect(refusal?.code == .notAnImage)
        #expect(try none.probe(Bytes([0xFF]), isComplete: false) == .needsMoreBytes(64))
        #expect(throws: LoadError.self) { try none.probe(Bytes([0xFF]), isComplete: true) }
    }
}
