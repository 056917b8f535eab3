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

    // MARK: URLs that are not UTF-8

    @Test(
        "A redirect keeps the bytes of a Location that is not UTF-8",
        arguments: [
            ("/caf\\e9.jpg", "/caf%E9.jpg"), ("/a\\f8 b.jpg?\\82\\a0=%20", "/a%F8%20b.jpg?%82%A0=%20"),
            ("/\\c3\\a9\\e9", "/%C3%A9%E9"), ("/\\c3\\a9", "/%C3%A9"), ("//127.0.0.1:PORT/\\ff", "/%FF"),
            ("http://127.0.0.1:PORT/\\ff.jpg", "/%FF.jpg"),
        ])
    func location(_ location: String, _ target: String) throws {
        var response = LoopbackServer.Response(status: 302)
        let bytes = Self.bytes(location.replacing("PORT", with: "\(server.port)"))
        response.rawLines.append(Bytes(Array("Location: ".utf8) + bytes))
        server.serve("/from", response)
        server.serve(String(target.prefix { $0 != "?" }), .ok(jpeg))
        let line = try get(server.url("/from"), "--discard")
        #expect(line.outcome == "ok" && line.finalURL == server.url(target), "\(line)")
        #expect(server.requests.last?.target == target)
    }

    @Test("A redirect to a host that is not UTF-8 fails as badRedirect")
    func locationHost() throws {
        var response = LoopbackServer.Response(status: 302)
        response.rawLines.append(Bytes(Self.bytes("Location: http://b\\fccher.example/")))
        server.serve("/from", response)
        #expect(try get(server.url("/from")).error?.code == "badRedirect")
    }

    @Test("A URL in the arguments or in a list keeps its bytes that are not UTF-8")
    func urlArguments() throws {
        server.serve("/caf%E9.jpg", .ok(jpeg))
        place.write("caf\u{E9}.jpg", jpeg.array)
        place.write("list", Self.bytes(server.url("/caf\\e9.jpg")))
        let argument = "set -- \"$@\" \"$(printf '\(server.url("/caf"))\\351.jpg')\""
        for result in [
            place.run("get", "--discard", "--json", "-i", "list"),
            place.run("get", "--discard", "--json", prefix: argument), place.run("info", "--json", prefix: argument),
        ] {
            let line = try #require(try result.lines.first)
            #expect(result.status == 0 && line.url == server.url("/caf%E9.jpg"), "\(line) \(result.errors)")
            #expect(server.requests.last?.target == "/caf%E9.jpg")
        }
        let file = "cp caf\u{E9}.jpg \"$(printf 'caf\\351.jpg')\"\n"
            + "set -- \"$@\" \"$(printf 'file://\(place.path)/caf\\351.jpg')\""
        #expect(place.run("get", "--discard", prefix: file).status == 0)
    }

    /// Returns the bytes of a text in which `\\e9` stands for the byte 0xE9.
    private static func bytes(_ text: String) -> [UInt8] {
        let parts = text.split(separator: "\\", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: Array(parts[0].utf8)) {
            $0 += [UInt8($1.prefix(2), radix: 16)!] + Array($1.dropFirst(2).utf8)
        }
    }
}
