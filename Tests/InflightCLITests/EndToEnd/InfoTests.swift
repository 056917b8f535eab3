import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
final class InfoTests: EndToEndSuite {
    @Test("info distinguishes URLs from file paths")
    func places() {
        for url in ["http://h/a", "https://h", "data:image/png,x", "file:///a", "ftp://h"] {
            #expect(InfoCommand.isURL(url), "\(url)")
        }
        for path in ["a.jpg", "./a:b.jpg", "C:x", "dir/http://x", ":", "2x://y"] {
            #expect(!InfoCommand.isURL(path), "\(path)")
        }
    }

    @Test("info describes a local file as text and as JSON")
    func localFile() throws {
        let png = try TestImages.make(.png, 30, 20, isTransparent: true)
        place.write("a.png", png.array)
        let words = place.run("info", "a.png")
        #expect(words.status == 0)
        for part in ["a.png", "PNG", "30 × 20", "1, upright", "RGB, 8 bits", "yes", "\(png.count)"] {
            #expect(words.text.contains(part), "\(part) in \(words.text)")
        }
        let line = try #require(try place.run("info", "--json", "a.png").lines.first)
        #expect(line.url == "a.png" && line.format == "png" && line.width == 30 && line.height == 20)
        #expect(line.orientation == 1 && line.frames == 1 && line.color == "rgb" && line.alpha == true)
        #expect(line.bytes == png.count && line.from == "file")
    }

    @Test("info of a URL reads no more than it needs and closes the connection")
    func remote() throws {
        let jpeg = try TestImages.make(.jpeg, 640, 480)
        server.serve("/a.jpg", .ok(jpeg).held("rest", after: 2000))
        server.serve("/moved", .redirect(to: "/a.jpg"))
        let result = place.run("info", server.url("/moved"), "--json")
        let line = try #require(try result.lines.first)
        #expect(line.outcome == "ok" && line.width == 640 && line.height == 480)
        #expect(line.bytes == jpeg.count)
        #expect((line.readBytes ?? .max) <= 2000)
        try server.blockUntilClosedByPeer("/a.jpg")
    }

    @Test("info counts all frames of a local file, and those it has read of a remote one")
    func frames() throws {
        let frame = Array(TestImages.gif.array[19...].dropLast())
        let many = Array(TestImages.gif.array[..<19]) + Array(repeating: frame, count: 10_000).flatMap(\.self) + [0x3B]
        place.write("many.gif", many)
        #expect(place.run("info", "many.gif").text.contains("frames       10,000\n"))
        #expect(try place.run("info", "many.gif", "--json").lines.first?.frames == 10_000)
        server.serve("/many.gif", .ok(Bytes(many)).held("rest", after: 1000))
        #expect(place.run("info", server.url("/many.gif")).text.contains(" or more\n"))
        let told = place.run("info", "many.gif", "--json", "--max-bytes", "100000")
        #expect(told.text.contains("\"mayHaveMoreFrames\":true"))
        #expect(try (told.lines.first?.readBytes ?? .max) <= 100_000)
    }

    @Test("info prints the duration and loop count of an animation as text and as JSON")
    func animation() throws {
        let frame = Array(TestImages.gif.array[19...].dropLast())
        let control: [UInt8] = [0x21, 0xF9, 4, 0, 120, 0, 0, 0]
        let two = Array(TestImages.gif.array[..<19]) + control + frame + control + frame + [0x3B]
        place.write("once.gif", two)
        #expect(place.run("info", "once.gif").text.contains("plays        once, 2.4 s\n"))
        for (repeats, loops, words) in [(0, 0, "forever, 2.4 s each time"), (2, 3, "3 times, 2.4 s each time")] {
            let netscape = [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, UInt8(repeats), 0, 0]
            place.write("more.gif", Array(two[..<19]) + netscape + two[19...])
            #expect(place.run("info", "more.gif").text.contains(words))
            let line = try #require(try place.run("info", "--json", "more.gif").lines.first)
            #expect(line.frames == 2 && line.loops == loops && line.durationMilliseconds == 2400)
        }
        let still = place.run("info", "--json", "once.gif", "--max-bytes", "40")
        #expect(try still.lines.first?.loops == nil)
        place.write("still.gif", TestImages.gif.array)
        #expect(!place.run("info", "still.gif").text.contains("plays"))
    }

    @Test("info --placeholder prints the placeholders of files and URLs as text and as JSON")
    func placeholders() throws {
        let png = try TestImages.make(.png, 130, 200, isTransparent: true)
        place.write("a.png", png.array)
        server.serve("/a.png", .ok(png))
        let small = try TestImages.decode(png.array).0.processed(by: [.resize(width: 100, height: 100)])
        let hashes = [
            BlurHash(small, horizontal: 3, vertical: 4).text, ThumbHash(small).text, small.dominantColor.description,
        ]
        for picture in ["a.png", server.url("/a.png")] {
            let words = place.run("info", "--placeholder", picture).text
            let json = place.run("info", "--placeholder", "--json", picture).text
            for hash in hashes { #expect(words.contains(hash) && json.contains("\"\(hash)\""), "\(hash) in \(json)") }
        }
        #expect(!place.run("info", "--json", "a.png").text.contains("Hash"))
        place.write("half.png", Array(png.array.prefix(png.count / 2)))
        #expect(place.run("info", "half.png").status == 0)
        let half = place.run("info", "--placeholder", "half.png")
        #expect(half.status == 1 && half.errors.contains("damaged"))
    }

    @Test("info --exif prints the camera metadata of files and URLs")
    func metadata() throws {
        // A record with one field, the camera's name, as the standard defines it, behind JPEG's marker.
        let record: [UInt8] =
            Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x0F, 0x01, 2, 0, 4, 0, 0, 0] + Array("Cam\0\0\0\0\0".utf8)
        let jpeg = try TestImages.make(.jpeg, 60, 40).array
        let length = record.count + 2
        let marked = jpeg[..<2] + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + record + jpeg[2...]
        place.write("a.jpg", Array(marked))
        server.serve("/a.jpg", .ok(Bytes(Array(marked))))
        for picture in ["a.jpg", server.url("/a.jpg")] {
            #expect(place.run("info", "--exif", picture).text.contains("\n  Make         Cam\n"))
            let json = place.run("info", "--exif", "--json", picture).text
            #expect(json.contains(#""exif":{"image":{"Make":"Cam"}}"#), "\(json)")
            #expect(!place.run("info", picture).text.contains("Cam"))
        }
        place.write("b.jpg", jpeg)
        #expect(place.run("info", "--exif", "b.jpg").text.contains("none"))
    }

    @Test("A failed input does not stop the others, and the exit status is 1")
    func failures() throws {
        place.write("a.gif", TestImages.gif.array)
        place.write("text", "hello")
        let result = place.run("info", "none", "text", ".", server.url("/none"), "a.gif", "--json")
        #expect(result.status == 1)
        #expect(
            try result.lines.map { $0.error?.code ?? $0.outcome }
                == ["cannotRead", "notAnImage", "cannotRead", "badStatus", "ok"])
        let words = place.run("info", "none", "a.gif")
        #expect(words.status == 1)
        #expect(words.errors.contains("none") && words.errors.contains("cannotRead"))
        #expect(words.text.contains("GIF"))
        #expect(place.run("info", "none", "--quiet").errors.isEmpty)
    }

    @Test("Control characters in a file name or in metadata never reach the terminal")
    func safety() {
        let result = place.run("info", "no\u{1B}[2Jne")
        #expect(result.status == 1)
        #expect(!result.errors.contains("\u{1B}"))
        // A record with the name of the camera, as in `metadata()`.
        let record: [UInt8] =
            Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x0F, 0x01, 2, 0, 4, 0, 0, 0]
            + Array("C\u{1B}m\0\0\0\0\0".utf8)
        place.write("a.jpg", Pieces.jpeg(jpeg.array, adding: 0xE1, record))
        let shown = place.run("info", "--exif", "a.jpg").text
        #expect(shown.contains("C\\u{1b}m") && !shown.contains("\u{1B}"), "\(shown)")
    }
}
