import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Images that are resized and re-encoded.
@Suite(.timeLimit(.minutes(10)))
final class ReencodingTests: EndToEndSuite {
    override init() throws {
        try super.init()
        server.serve("/a.jpg", .ok(jpeg))
        server.serve("/clear.png", .ok(try TestImages.make(.png, 60, 40, isTransparent: true)))
        server.serve("/dot.gif", .ok(TestImages.gif))
    }

    @Test(
        "--size, --fit, --crop and --process give the requested dimensions",
        arguments: [
            (["--size", "30x30"], 30, 20), (["--size", "30x"], 30, 20), (["--size", "x10"], 15, 10),
            (["--size", "30x30", "--fit", "cover"], 30, 30), (["--size", "30x30", "--fit", "fill"], 30, 30),
            (["--size", "120x120"], 60, 40), (["--size", "120x120", "--enlarge"], 120, 80),
            (["--size", "120x120", "--fit", "cover"], 40, 40),
            (["--size", "30x30", "--fit", "cover", "--crop", "interest"], 30, 30),
            (["--shortest", "20"], 30, 20), (["--shortest", "80"], 60, 40),
            (["--shortest", "80", "--enlarge"], 120, 80),
            (["--size", "20x20", "--fit", "outside"], 30, 20), (["--size", "50x50", "--fit", "pad"], 50, 50),
            (["--size", "90x70", "--fit", "pad"], 90, 70), (["--size", "90x70", "--fit", "pad", "--enlarge"], 90, 70),
            (["--size", "60x60", "--fit", "pad", "--keep-smaller"], 60, 40),
            (["--size", "59x59", "--fit", "pad", "--keep-smaller"], 59, 59),
            (["--size", "50x50", "--fit", "cover", "--keep-smaller"], 60, 40),
            (["--size", "30x30", "--fit", "cover", "--keep-smaller"], 30, 30),
            (["--size", "80x10", "--fit", "exact"], 80, 10), (["--process", "rotate:90,resize:20x"], 20, 30),
            (["--process", "crop:10x12+3+4"], 10, 12), (["--size", "30x", "--process", "circle"], 20, 20),
            (["--process", "blur:2", "--process", "grey,crop:7x8:bottom-right"], 7, 8),
        ] as [([String], Int, Int)])
    func sizes(_ options: [String], _ width: Int, _ height: Int) throws {
        let result = place.run(["get", server.url("/a.jpg"), "-o", "out", "--json"] + options)
        let line = try #require(try result.lines.first)
        #expect(line.width == width && line.height == height && line.format == "jpeg")
        #expect(line.sourceWidth == 60 && line.sourceHeight == 40)
        let (pixels, info) = try TestImages.decode(place.read("out/a.jpg"))
        #expect(pixels.width == width && pixels.height == height && info.format == .jpeg)
    }

    @Test("An AVIF sequence without a still is stored, described and converted")
    func sequence() throws {
        server.serve("/film.avif", .ok(Bytes(HEIFPieces(AVIFFixtures.alpha).sequence(width: 16, height: 12))))
        let url = server.url("/film.avif")
        #expect(place.run("get", url, "-o", "stored").status == 0)
        #expect(place.run("info", url).text.contains("16 × 12"))
        #expect(place.run("get", url, "-o", "out/a.png", "--format", "png").status == 0)
        let (pixels, _) = try TestImages.decode(place.read("out/a.png"))
        #expect(pixels.width == 16 && pixels.height == 12 && pixels.psnr(Scene.withAlpha) > 34)
    }

    @Test("Decoding in the process and in a worker gives identical files")
    func decoding() throws {
        let url = server.url("/a.jpg")
        for place in ["in-process", "worker", "auto"] {
            #expect(self.place.run("get", url, "-o", place, "--size", "30x", "--decode", place).status == 0)
        }
        let files = ["in-process", "worker", "auto"].map { place.read($0 + "/a.jpg") }
        #expect(Set(files).count == 1)
        let result = place.run(
            ["get", url, "-o", "out", "--size", "30x", "--decode", "worker", "--json"],
            environment: ["INFLIGHT_DECODER": "/nowhere/inflight-decoder"])
        #expect(result.status == 1)
        #expect(try result.lines.first?.error?.code == "decoderUnavailable")
        #expect(place.run("get", url, "--decode", "elsewhere").status == 64)
    }

    @Test("A missing protection is reported at most once, or fails the load if it is required")
    func protections() throws {
        let arguments = ["get", "-o", "out", "--size", "30x", "--decode", "worker", "--json"]
        let urls = ["/a.jpg", "/clear.png", "/dot.gif"].map { server.url($0) }
        let errors = place.run(arguments + urls).errors
        for protection in ["landlock", "namespaces"] {
            let strict = place.run(arguments + ["--require-protection", protection] + urls)
            let isMissing = errors.contains(protection)
            #expect(try strict.lines.map(\.error?.code) == urls.map { _ in isMissing ? "decoderUnavailable" : nil })
        }
        #expect(errors.split(separator: "\n").filter { $0.contains("without a protection") }.count <= 1)
    }

    @Test(
        "The final URL of a redirect is reported for stored and for resized images",
        arguments: [[], ["--size", "30x"]])
    func redirected(_ options: [String]) throws {
        server.serve("/moved", .redirect(to: "/a.jpg"))
        let result = place.run(["get", server.url("/moved"), server.url("/a.jpg"), "-o", "out", "--json"] + options)
        #expect(try result.lines.map(\.finalURL) == [server.url("/a.jpg"), nil])
    }

    @Test("The format determines the extension", arguments: [("jpeg", "a.jpg"), ("png", "a.png"), ("webp", "a.webp")])
    func formats(_ format: String, _ file: String) throws {
        let result = place.run("get", server.url("/a.jpg"), "-o", "out", "--json", "--format", format)
        #expect(try result.lines.first?.file == "out/" + file)
        #expect(try TestImages.decode(place.read("out/" + file)).1.format.rawValue == format)
    }

    @Test(
        "Resized images keep their format, or become PNG if it cannot be encoded",
        arguments: [[], ["--format", "keep"]])
    func keeping(_ options: [String]) throws {
        let urls = ["/a.jpg", "/clear.png", "/dot.gif"].map { server.url($0) }
        let result = place.run(["get"] + urls + ["-o", "out", "--json", "--size", "20x"] + options)
        #expect(try result.lines.map(\.file) == ["out/a.jpg", "out/clear.png", "out/dot.png"])
        #expect(try result.lines.map(\.sourceFormat) == ["jpeg", "png", "gif"])
    }

    @Test("A lower --quality makes a smaller file")
    func quality() {
        for quality in ["5", "95"] {
            #expect(place.run("get", server.url("/a.jpg"), "-o", quality, "--quality", quality).status == 0)
        }
        #expect(place.read("5/a.jpg")!.count < place.read("95/a.jpg")!.count)
    }

    @Test(
        "--fit pad pads with white, or with the --background colour, wherever the image is decoded",
        arguments: ["in-process", "worker"])
    func padding(decoder: String) throws {
        for (options, border) in [([], [255, 255, 255]), (["--background", "#ff8000"], [255, 128, 0])] {
            let arguments = ["--size", "60x60", "--fit", "pad", "--format", "png", "--decode", decoder]
            #expect(place.run(["get", server.url("/a.jpg"), "-o", "out"] + arguments + options).status == 0)
            let pixels = try TestImages.decode(place.read("out/a.png")).0
            func color(_ x: Int, _ y: Int) -> [Int] {
                (0..<3).map { Int(pixels.bytes[y * pixels.bytesPerRow + x * 4 + $0]) }
            }
            #expect(color(0, 9) == border && color(59, 50) == border && color(30, 10) != border)
            #expect(color(0, 10) != border && color(59, 49) != border)
            TemporaryDirectory.remove(place.appending("out"))
        }
    }

    @Test("Every frame of an animation is padded")
    func animation() async throws {
        let bytes = TestImages.animation(4, 2, colors: [1, 2], hundredths: 10, loops: 1)
        var options = DecodeOptions(resize: Resize(width: 8, height: 8, fit: .pad, enlarges: true))
        options.resize?.background = .black
        let animation = try TestImages.codecs.animation(of: bytes, options: options)
        for index in 0..<2 {
            let frame = try await animation.frame(at: index).pixels
            #expect(frame.width == 8 && frame.height == 8 && frame.bytes[0] == 0 && frame.bytes[1] == 0)
            let middle = frame.bytesPerRow * 4 + 4 * 4
            #expect(frame.bytes[middle + index] > 200)
        }
    }

    @Test("A transparent image becomes a JPEG on white, or on the --background colour")
    func background() throws {
        for (options, corner) in [([], 255), (["--background", "black"], 0)] as [([String], Int)] {
            _ = place.run(["get", server.url("/clear.png"), "-o", "out", "--format", "jpeg"] + options)
            let pixels = try TestImages.decode(place.read("out/clear.jpg")).0
            let red = Int(pixels.bytes[0])
            #expect(abs(red - corner) < 12, "\(red)")
        }
    }

    @Test("The same input gives the same output bytes")
    func sameBytes() {
        for format in ["jpeg", "png", "webp"] {
            for run in ["1", "2"] {
                #expect(
                    place.run("get", server.url("/a.jpg"), "-o", run, "--size", "33x", "--format", format).status == 0)
            }
        }
        for name in place.files(in: "1") {
            #expect(place.read("1/" + name) != nil && place.read("1/" + name) == place.read("2/" + name))
        }
    }

    @Test("Two URLs whose names become equal by their format are numbered")
    func numbering() throws {
        server.serve("/a.png", .ok(try TestImages.make(.png, 9, 9)))
        let result = place.run(
            "get", server.url("/a.jpg"), server.url("/a.png"), "-o", "out", "--json", "--format", "webp")
        #expect(try result.lines.map(\.file) == ["out/a.webp", "out/a-2.webp"])
    }

    @Test("A resized image can be written to standard output")
    func standardOutput() throws {
        let result = place.run("get", server.url("/a.jpg"), "--size", "6x", "--format", "png")
        #expect(try TestImages.decode(result.output).0.width == 6)
    }

    @Test("Metadata is dropped unless --keep-metadata is given")
    func metadata() throws {
        let pixels = try TestImages.decode(try TestImages.make(.jpeg, 60, 40).array).0
        var encoding = EncodeOptions(format: .jpeg)
        encoding.metadata = ImageMetadata(xmpBytes: Bytes("<where I live/>"))
        server.serve("/said.jpg", .ok(try TestImages.codecs.encode(pixels, options: encoding)))
        for format in ["keep", "png", "webp"] {
            let ways = ["get", server.url("/said.jpg"), "--size", "30x", "--format", format, "-o"]
            #expect(
                place.run(ways + ["plain"]).status == 0 && place.run(ways + ["kept", "--keep-metadata"]).status == 0)
            let name = "said." + (format == "keep" ? "jpg" : format)
            #expect(try TestImages.codecs.metadata(of: Bytes(try #require(place.read("plain/" + name)))).isEmpty)
            let kept = try TestImages.codecs.metadata(of: Bytes(try #require(place.read("kept/" + name))))
            #expect(kept.xmp == "<where I live/>")
        }
    }
}
