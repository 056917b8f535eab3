import Inflight
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight batch --bbox-column`, which blurs boxes of images.
@Suite("Blurred boxes in batches", .timeLimit(.minutes(10)))
final class BatchBoxTests: EndToEndSuite {
    private static let (width, height) = (120, 80)

    private let source: PixelBuffer

    override init() throws {
        source = TestImages.noise(Self.width, Self.height, seed: 3)
        try super.init()
        let image = try TestImages.codecs.encode(source, options: EncodeOptions(format: .png))
        server.serve("/a.png", .ok(image))
    }

    private func batch(_ arguments: String...) -> CommandResult {
        place.run(
            ["batch", "in.jsonl", "--format", "png", "--allow-private", "--ignore-robots", "--layout", "files"]
                + arguments)
    }

    private func write(_ boxes: [String]) {
        place.write("in.jsonl", boxes.map { "{\"url\":\"\(server.url("/a.png"))\",\"faces\":\($0)}\n" }.joined())
    }

    private func image(_ name: String) throws -> PixelBuffer {
        try TestImages.codecs.decode(Bytes(try #require(place.read(name)))).0
    }

    /// The mean difference of two images in a part, in levels of each channel.
    private func difference(_ one: PixelBuffer, _ two: PixelBuffer, _ columns: Range<Int>, _ rows: Range<Int>) -> Double
    {
        var sum = 0
        for y in rows {
            for offset in columns.lowerBound * 4..<columns.upperBound * 4 {
                let a = unsafe one.withUnsafeBytes { unsafe Int($0[y * one.bytesPerRow + offset]) }
                let b = unsafe two.withUnsafeBytes { unsafe Int($0[y * two.bytesPerRow + offset]) }
                sum += abs(a - b)
            }
        }
        return Double(sum) / Double(columns.count * rows.count * 4)
    }

    @Test("Each row has its own boxes blurred, rows without boxes are unchanged, and the column stays")
    func rows() throws {
        write(["[[0.25,0.25,0.5,0.5]]", "null", "[]", "[[0.25,0.25,0.5,0.5]]", "[[0.75,0.5,1,1]]"])
        #expect(batch("-o", "out", "--bbox-column", "faces").status == 0)
        let images = try (0..<5).map { try image("out/00000/00000000\($0).png") }
        #expect(difference(images[0], source, 30..<60, 20..<40) > 5)
        #expect(difference(images[0], source, 90..<120, 0..<80) == 0)
        #expect(images[1].bytes == source.bytes && images[2].bytes == source.bytes)
        #expect(images[3].bytes == images[0].bytes)
        #expect(difference(images[4], source, 95..<120, 45..<80) > 5)
        #expect(difference(images[4], source, 0..<70, 0..<80) == 0)
        // Rows of the same boxes have one request.
        #expect(server.requestCount <= 3)
        let json = String(decoding: try #require(place.read("out/00000/000000000.json")), as: UTF8.self)
        #expect(json.contains(#""faces":[[0.25,0.25,0.5,0.5]]"#))
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        let other = batch("-o", "out")
        #expect(other.status == 64 && other.errors.contains("bbox-column was 'faces', is not set"), "\(other.errors)")
    }

    @Test("Boxes are relative to the whole image, and blurred before the image is cropped and padded")
    func geometry() throws {
        // The box is at the left edge of the crop, the image is 120 × 80 pixels.
        write(["[[0.2,0,0.5,0.5]]", "null"])
        let cases: [(name: String, options: [String])] = [
            ("cover", ["--size", "40x40", "--fit", "cover"]), ("pad", ["--size", "60x60", "--fit", "pad"]),
        ]
        for (name, options) in cases {
            let result = place.run(
                ["batch", "in.jsonl", "--format", "png", "--allow-private", "--ignore-robots", "--layout", "files"]
                    + ["-o", name, "--bbox-column", "faces"] + options)
            #expect(result.status == 0, "\(result.errors)")
            let (blurred, plain) = (try image("\(name)/00000/000000000.png"), try image("\(name)/00000/000000001.png"))
            #expect(blurred.width == plain.width && blurred.height == plain.height)
            if name == "cover" {
                // Of 60 × 40 pixels, the part from 10 on: the box is 12…30, and 2…20 in the crop.
                #expect(difference(blurred, plain, 2..<20, 0..<20) > 3)
                #expect(difference(blurred, plain, 32..<40, 0..<40) == 0)
            } else {
                // 60 × 40 pixels below 10 rows of white, which do not bleed into the box.
                #expect(difference(blurred, plain, 12..<30, 10..<30) > 3)
                #expect(difference(blurred, plain, 0..<60, 0..<10) == 0)
                let top = unsafe blurred.withUnsafeBytes { unsafe $0[10 * blurred.bytesPerRow + 20 * 4] }
                let mean = unsafe source.withUnsafeBytes { unsafe Int($0[4 * source.bytesPerRow + 40 * 4]) }
                #expect(abs(Int(top) - mean) < 60)
            }
        }
    }

    @Test("--raw-if-unchanged encodes an image with boxes, and keeps the others")
    func unchanged() throws {
        write(["[[0,0,1,1]]", "null"])
        #expect(batch("-o", "out", "--bbox-column", "faces", "--raw-if-unchanged").status == 0)
        let body = try TestImages.codecs.encode(source, options: EncodeOptions(format: .png)).array
        #expect(place.read("out/00000/000000001.png") == body)
        #expect(difference(try image("out/00000/000000000.png"), source, 0..<120, 0..<80) > 5)
    }

    @Test("Rows whose boxes cannot be used are rejected with their file and line")
    func rejects() throws {
        write(["[[0,0,0.5,0.5]]", "[[0,0,0.5]]", "[[0.5,0,0.1,1]]", "[[10,20,200,300]]", "\"face\"", "[[0,0,NaN,1]]"])
        let result = batch("-o", "out", "--bbox-column", "faces")
        #expect(result.status == 0 && result.errors.contains("5 malformed rows skipped"), "\(result.errors)")
        let rejects = String(decoding: try #require(place.read("out/rejects.jsonl")), as: UTF8.self)
        for (line, text) in [
            (2, "The column 'faces' is not a list of boxes"), (3, "The column 'faces' has a box whose right or bottom"),
            (4, "The column 'faces' has a box outside the image"), (5, "is not a list of boxes"), (6, "Malformed JSON"),
        ] {
            let found = rejects.split(separator: "\n").first { $0.contains("\"line\":\(line),") } ?? ""
            #expect(found.contains("in.jsonl") && found.contains(text), "\(line): \(rejects)")
        }
        let missing = batch("-o", "other", "--bbox-column", "boxes")
        #expect(missing.status == 65 && missing.errors.contains("The column 'boxes' is missing"), "\(missing.errors)")
    }

    @Test(
        "Options with which boxes cannot be blurred are usage errors that name both",
        arguments: [["--raw"], ["--layout", "hashed"], ["--dedupe", "content"], ["--stream"]])
    func usage(options: [String]) {
        let format = options == ["--raw"] ? [] : ["--format", "png"]
        let output = options == ["--stream"] ? [] : ["a.csv", "-o", "x"]
        let error = #expect(throws: UsageError.self) {
            _ = try Command.parse(
                ["batch", "--bbox-column", "faces"] + output + format + options, standardOutputIsTerminal: false)
        }
        let text = "--bbox-column and \(options.joined(separator: " ")) cannot be combined"
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }
}
