import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Bodies that `inflight batch` stores unchanged.
@Suite("Original bytes in batches", .timeLimit(.minutes(10)))
final class BatchRawTests: EndToEndSuite {
    private static let options = ["--allow-private", "--ignore-robots"]
    private static let names = ["a.jpg", "b.png", "c.webp", "d.gif"]

    private let bodies: [Bytes]

    override init() throws {
        bodies =
            try [TestImages.make(.jpeg, 60, 40), TestImages.make(.png, 30, 20), TestImages.make(.webp, 20, 30)]
            + [TestImages.gif]
        try super.init()
        // The names tell nothing of the formats.
        for (index, body) in bodies.enumerated() { server.serve("/\(index)", .ok(body)) }
        server.serve("/text", .ok(Bytes(Array("<html>no image</html>".utf8))))
        server.serve("/cut", .ok(Bytes(bodies[1].array.dropLast(20))))
        let paths = (0..<bodies.count).map { "/\($0)" } + ["/text", "/cut", "/1"]
        place.write("in.txt", paths.map { server.url($0) + "\n" }.joined())
    }

    private func batch(_ arguments: String...) -> CommandResult {
        place.run(["batch", "in.txt"] + arguments + Self.options)
    }

    @Test("--raw stores bodies unchanged with the extension of their content, and no body that is no image")
    func raw() throws {
        let result = batch("-o", "out", "--layout", "files", "--raw")
        #expect(result.status == 0, "\(result.errors)")
        for (index, body) in bodies.enumerated() {
            let name = "out/00000/00000000\(index)\(Self.names[index].dropFirst())"
            #expect(place.read(name) == body.array, "\(name)")
        }
        #expect(place.read("out/00000/000000006.png") == bodies[1].array)
        let sidecar = String(decoding: try #require(place.read("out/00000/000000000.json")), as: UTF8.self)
        #expect(sidecar.contains(#""width":60,"height":40,"original_width":60,"original_height":40,"#), "\(sidecar)")
        let status = place.run(["batch", "status", "out", "--json"]).text
        #expect(status.contains(#""images":4,"duplicates":1,"#) && status.contains(#""notAnImage":1"#), "\(status)")
        #expect(place.run(["batch", "verify", "out"]).status == 0)
    }

    @Test(
        "Datasets of several formats are verified and written anew in every layout",
        arguments: ["webdataset", "files", "hashed"])
    func layouts(layout: String) throws {
        server.serve("/cut", .status(503))
        #expect(batch("-o", "out", "--layout", layout, "--raw", "--retries", "0").status == 0)
        server.serve("/cut", .ok(bodies[2]))
        // The images of the finished shard are read back by their extensions.
        let retry = place.run(["batch", "retry", "out"])
        #expect(retry.status == 0, "\(retry.errors)")
        let verification = place.run(["batch", "verify", "out"])
        #expect(verification.status == 0, "\(verification.text)")
        let status = place.run(["batch", "status", "out", "--json"]).text
        #expect(status.contains(#""images":5,"#), "\(status)")
        // A later row with the URL of a finished shard copies its image.
        let list = String(decoding: try #require(place.read("in.txt")), as: UTF8.self)
        place.write("in.txt", list + server.url("/3") + "\n")
        #expect(batch("-o", "out", "--layout", layout, "--raw").status == 0)
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        if layout == "files" { #expect(place.read("out/00000/000000007.gif") == bodies[3].array) }
    }

    @Test("--raw-if-unchanged encodes only bodies of another format or size, or that are not upright")
    func unchanged() throws {
        let exif = Array("Exif\0\0".utf8) + Pieces.exif(orientation: 6)
        let turned = Bytes(Pieces.jpeg(bodies[0].array, adding: 0xE1, exif))
        server.serve("/3", .ok(turned))
        func stored(_ folder: String, _ options: String...) throws -> [[UInt8]] {
            let result = place.run(
                ["batch", "in.txt", "-o", folder, "--layout", "files", "--format", "jpeg", "--raw-if-unchanged"]
                    + options + Self.options)
            #expect(result.status == 0, "\(result.errors)")
            #expect(place.run(["batch", "verify", folder]).status == 0)
            return try (0..<4).map { try #require(place.read("\(folder)/00000/00000000\($0).jpg")) }
        }
        let same = try stored("same")
        #expect(same[0] == bodies[0].array && same[1] != bodies[1].array && same[3] != turned.array)
        #expect(try TestImages.decode(same[3]).1.orientation == .up)
        #expect(try stored("large", "--size", "100x100")[0] == bodies[0].array)
        #expect(try stored("small", "--size", "59x")[0] != bodies[0].array)
        #expect(try stored("pad", "--size", "60x60", "--fit", "pad")[0] != bodies[0].array)
        #expect(try stored("kept", "--size", "60x60", "--fit", "pad", "--keep-smaller")[0] == bodies[0].array)
        #expect(try stored("grey", "--process", "grey")[0] != bodies[0].array)
        let other = batch("-o", "same", "--layout", "files", "--format", "jpeg")
        #expect(other.status == 64 && other.errors.contains("raw-if-unchanged"), "\(other.errors)")
    }

    @Test(
        "--raw with an option that encodes images is a usage error that names both",
        arguments: [
            ["--size", "3x3"], ["--shortest", "3"], ["--format", "png"], ["--quality", "3"], ["--process", "grey"],
            ["--keep-metadata"], ["--raw-if-unchanged"],
        ])
    func usage(options: [String]) {
        let error = #expect(throws: UsageError.self) {
            _ = try Command.parse(["batch", "a.csv", "-o", "x", "--raw"] + options, standardOutputIsTerminal: false)
        }
        #expect(error?.message.contains("--raw and \(options[0]) cannot be combined") == true)
        #expect(throws: UsageError.self) {
            _ = try Command.parse(["batch", "--stream", "--raw"], standardOutputIsTerminal: false)
        }
    }
}
