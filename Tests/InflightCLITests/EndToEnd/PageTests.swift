import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite("Pages of TIFF files", .timeLimit(.minutes(10)))
struct PageTests {
    private let place = TemporaryDirectory()

    /// Two grey pages of 3 × 2 and 2 × 1 pixels, of 8 bits (TIFF 6.0 section 4).
    private static let file: [UInt8] = {
        func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 0xFF) } }
        func directory(_ width: Int, _ height: Int, strip: Int, next: Int) -> [UInt8] {
            let fields = [
                (256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, strip), (277, 1), (278, height),
                (279, width * height),
            ]
            return little(fields.count, 2)
                + fields.flatMap { little($0.0, 2) + little(4, 2) + little(1, 4) + little($0.1, 4) } + little(next, 4)
        }
        let length = 2 + 9 * 12 + 4
        return Array("II".utf8) + little(42, 2) + little(16, 4) + [10, 20, 30, 40, 50, 60, 200, 210]
            + directory(3, 2, strip: 8, next: 16 + length) + directory(2, 1, strip: 14, next: 0)
    }()

    @Test("info prints the number of pages, and with --page the selected page")
    func info() throws {
        place.write("two.tif", Self.file)
        let all = place.run("info", "two.tif").text
        #expect(all.contains("pages        2\n") && all.contains("3 × 2") && !all.contains("page  "))
        let second = place.run("info", "two.tif", "--page", "2").text
        #expect(second.contains("page         2\n") && second.contains("2 × 1"))
        let line = place.run("info", "two.tif", "--page", "2", "--json")
        #expect(line.text.contains("\"page\":2,") && line.text.contains("\"pages\":2,"))
        #expect(try line.lines.first?.width == 2 && line.lines.first?.frames == 2)
        let none = place.run("info", "two.tif", "--page", "3", "--json")
        #expect(none.status == 1)
        #expect(try none.lines.first?.error?.code == "invalidRequest")
        place.write("a.png", try TestImages.make(.png, 3, 3).array)
        #expect(place.run("info", "a.png", "--page", "2").errors.contains("Only the first page"))
        #expect(place.run("info", "a.png", "--page", "1").status == 0)
    }

    @Test("get stores a file whose last page points to no page, and makes an image of it")
    func dangling() throws {
        let server = try LoopbackServer()
        let file = Self.file.dropLast(4) + [0, 0, 0, 0x40]
        server.serve("/dangling.tif", .ok(Bytes(Array(file))))
        let stored = place.run("get", server.url("/dangling.tif"), "-o", "as-is")
        #expect(stored.status == 0 && place.read("as-is/dangling.tif") == Array(file), "\(stored.errors)")
        let made = place.run("get", server.url("/dangling.tif"), "-o", "png", "--format", "png")
        #expect(made.status == 0, "\(made.errors)")
        let (pixels, _) = try TestImages.decode(place.read("png/dangling.png"))
        #expect(pixels.width == 3 && pixels.bytes[0] == 10)
    }

    @Test("get --page makes an image of the selected page")
    func get() throws {
        let server = try LoopbackServer()
        server.serve("/two.tif", .ok(Bytes(Self.file)))
        for (page, width, grey) in [("1", 3, UInt8(10)), ("2", 2, 200)] {
            let result = place.run("get", server.url("/two.tif"), "-o", page, "--page", page)
            #expect(result.status == 0, "\(result.errors)")
            let (pixels, info) = try TestImages.decode(place.read(page + "/two.png"))
            #expect(info.format == .png && pixels.width == width && pixels.bytes[0] == grey)
        }
        let none = place.run("get", server.url("/two.tif"), "-o", "out", "--page", "9", "--json")
        #expect(try none.status == 1 && none.lines.first?.error?.code == "invalidRequest")
    }
}
