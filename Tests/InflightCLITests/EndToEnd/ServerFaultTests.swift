import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Servers that break the rules, but whose images browsers show.
@Suite("Servers that break the rules of HTTP", .timeLimit(.minutes(10)))
final class ServerFaultTests: EndToEndSuite {
    /// Loads a URL, and returns its line.
    private func get(_ url: String, _ options: String..., options more: [String] = []) throws -> Line {
        try #require(try place.run(["get", url, "-o", "out", "--json"] + options + more).lines.first)
    }

    // MARK: Content codings

    @Test(
        "A body is stored as it is if its Content-Encoding names no known coding",
        arguments: [
            "none", "UTF-8", "utf8", "binary", "aws-chunked", "image/png", "base64", "8bit", "ISO-8859-1", "rot13",
            "gzip;q=1", "\"gzip\"", "\u{E9}", ",", Array(repeating: "none", count: 100).joined(separator: ","),
        ])
    func unknownCoding(_ coding: String) throws {
        server.serve("/a.jpg", .ok(jpeg, type: "image/jpeg").field("Content-Encoding", coding))
        for options in [[], ["--any"], ["--raw"], ["--header", "Accept-Encoding: gzip"]] {
            let line = try get(server.url("/a.jpg"), options: options)
            #expect(line.outcome == "ok", "\(options): \(line.error?.message ?? "")")
            #expect(place.holds("out/a.jpg", jpeg.array), "\(options)")
        }
        #expect(try get(server.url("/a.jpg"), "--size", "30x").outcome == "ok")
        #expect(place.run("info", server.url("/a.jpg")).status == 0)
    }

    @Test(
        "gzip is decoded behind names that are no coding, and up to an unknown one",
        arguments: ["gzip, none", "aws-chunked,GZIP", "utf-8, x-gzip, Windows-1251", "rot13, gzip", "identity,gzip"])
    func knownCoding(_ coding: String) throws {
        server.serve("/a.jpg", .ok(Bytes(Gzip.stored(jpeg.array))).field("Content-Encoding", coding))
        #expect(try get(server.url("/a.jpg")).outcome == "ok")
        #expect(place.holds("out/a.jpg", jpeg.array))
    }

    @Test("A coded body that is not decoded fails as notAnImage, and the error names its coding")
    func undecoded() throws {
        server.serve("/a.jpg", .ok(Bytes(Gzip.stored(jpeg.array))).field("Content-Encoding", "gzip, rot13"))
        for options in [[], ["--size", "30x"]] {
            let line = try get(server.url("/a.jpg"), options: options)
            #expect(line.error?.code == "notAnImage")
            #expect(line.error?.message.contains("Its content coding is gzip, rot13.") == true, "\(line)")
        }
    }

    @Test("A list of 100 content codings is refused before any of them is decoded")
    func manyCodings() throws {
        let field = Array(repeating: "gzip", count: 100).joined(separator: ", ")
        server.serve("/a.jpg", .ok(Bytes(Gzip.stored(jpeg.array))).field("Content-Encoding", field))
        for options in [[], ["--any"]] {
            let line = try get(server.url("/a.jpg"), options: options)
            #expect(line.error?.code == "badResponse")
            #expect(line.error?.message.contains("more than 4 nested content codings") == true, "\(line)")
        }
    }

    @Test("The caller's Accept-Encoding is sent, and does not change the stored bytes")
    func ownAcceptEncoding() throws {
        let coded = Bytes(Gzip.stored(jpeg.array))
        server.serve("/a.jpg", .ok(coded).field("Content-Encoding", "gzip").field("Cache-Control", "max-age=600"))
        for field in ["gzip, deflate, br", "identity", "*;q=0"] {
            for source in ["network", "disk"] {
                let line = try get(
                    server.url("/a.jpg"), "--header", "Accept-Encoding: \(field)", "--cache", "cache \(field.count)")
                #expect(line.outcome == "ok" && line.from == source && line.bytes == jpeg.count, "\(line)")
                #expect(place.holds("out/a.jpg", jpeg.array), "\(field)")
            }
            #expect(server.requests.last?.fields.values("accept-encoding") == [field])
        }
    }
}
