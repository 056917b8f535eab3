import Glibc
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite("inflight info --formats", .timeLimit(.minutes(10)))
struct FormatsTests {
    private let place = TemporaryDirectory()

    private struct Line: Decodable {
        struct Ability: Decodable {
            var state: String
            var library: String?
            var `where`: String?
            var reason: String?
            var debianPackage: String?
        }

        var format: String
        var decode: Ability
        var animate: Ability
        var encode: Ability
    }

    private func lines(_ result: CommandResult) throws -> [String: Line] {
        Dictionary(uniqueKeysWithValues: try result.decoded().map { (line: Line) in (line.format, line) })
    }

    @Test("info --formats lists every format with its library and location, as text and as JSON")
    func all() throws {
        let words = place.run("info", "--formats", "--svg")
        #expect(words.status == 0 && words.errors.isEmpty)
        let rows = words.text.split(separator: "\n")
        for name in ["JPEG", "PNG", "WebP", "GIF", "BMP", "ICO", "AVIF", "HEIC", "JPEG XL", "TIFF", "SVG"] {
            #expect(rows.contains { $0.hasPrefix(name + " ") }, "\(name) in \(words.text)")
        }
        #expect(rows.allSatisfy { $0.count <= 80 })
        let lines = try lines(place.run("info", "--formats", "--svg", "--json"))
        #expect(lines.count == 11)
        #expect(lines["jpeg"]?.decode.library == "libjpeg-turbo" && lines["jpeg"]?.decode.where == "program")
        #expect(lines["jpeg"]?.animate.state == "none" && lines["gif"]?.animate.library == "Inflight")
        #expect(lines["avif"]?.decode.where == "decoder" && lines["avif"]?.encode.where == "decoder")
        #expect(lines["svg"]?.decode.state == "present" && lines["svg"]?.encode.state == "none")
    }

    @Test("Formats of a missing decoder program are absent, with the program and package they need")
    func noDecoder() throws {
        let usual = BuiltProgram.path("inflight-decoder")
        #expect(unsafe symlink(usual, place.appending("decoder")) == 0)
        let environment = ["INFLIGHT_DECODER": place.appending("decoder")]
        let lines = try lines(place.run("info", "--formats", "--json", environment: environment))
        #expect(lines["avif"]?.decode.state == "absent" && lines["avif"]?.encode.state == "absent")
        #expect(lines["tiff"]?.decode.reason?.contains("inflight-decoder-vips") == true)
        #expect(lines["tiff"]?.decode.debianPackage == "inflight-decoder-vips")
        #expect(lines["png"]?.decode.state == "present")
        let words = place.run("info", "--formats", environment: environment).text
        #expect(words.contains("AVIF, AVIF (encoding), HEIC, JPEG XL, TIFF, SVG: inflight-decoder-vips is not"))
        // A program that is not a decoder provides no formats either.
        let broken = try self.lines(
            place.run("info", "--formats", "--json", environment: ["INFLIGHT_DECODER": "/bin/true"]))
        #expect(broken["heic"]?.decode.state == "absent")
        #expect(broken["heic"]?.decode.reason?.contains("/bin/true") == true)
    }

    @Test("The location of each decoder follows --decode")
    func places() throws {
        let worker = try lines(place.run("info", "--formats", "--json", "--decode", "worker"))
        #expect(worker["gif"]?.decode.where == "decoder" && worker["gif"]?.animate.state == "none")
        #expect(worker["png"]?.encode.where == "program")
        let inProcess = try lines(place.run("info", "--formats", "--json", "--decode", "in-process"))
        #expect(inProcess["jxl"]?.decode.state == "absent" && inProcess["jxl"]?.decode.debianPackage == nil)
    }
}
