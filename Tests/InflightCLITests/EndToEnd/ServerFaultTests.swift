import FoundationEssentials
import InflightBatch
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
        let file =
            "cp caf\u{E9}.jpg \"$(printf 'caf\\351.jpg')\"\n"
            + "set -- \"$@\" \"$(printf 'file://\(place.path)/caf\\351.jpg')\""
        #expect(place.run("get", "--discard", prefix: file).status == 0)
    }

    // MARK: Lengths

    @Test(
        "A coded body is complete at its own end if Content-Length is that of the decoded file", arguments: [9, 9000])
    func decodedLength(_ runs: Int) throws {
        let count = Int64(1 + 258 * runs)
        let coded = Bytes(Gzip.zeros(runs: runs))
        let wrong = LoopbackServer.Response.ok(coded).field("Content-Encoding", "gzip").claiming(contentLength: count)
        // One server closes the connection at the end, another keeps it open.
        for response in [wrong, wrong.at(.end, .hold("never"))] {
            server.serve("/zeros", response)
            let line = try get(server.url("/zeros"), "--any")
            #expect(line.outcome == "ok" && line.bytes == Int(count) && line.wireBytes == coded.count, "\(line)")
            #expect(place.holds("out/zeros", [UInt8](repeating: 0, count: Int(count))))
        }
        // All bytes have been decoded, but not the checksum.
        server.serve("/zeros", wrong.held("checksum", after: coded.count - 8))
        let command = RunningCommand(["get", server.url("/zeros"), "--any", "--discard", "--json"], in: place)
        try server.blockUntilHeld("checksum")
        server.release("checksum")
        #expect(try command.wait().lines.first?.outcome == "ok")
    }

    @Test("A coded body without its end fails as truncated, whatever its Content-Length")
    func truncatedCoding() throws {
        let coded = Gzip.zeros(runs: 9)
        let whole = Int64(1 + 258 * 9)
        for (bytes, length) in [(coded.dropLast(1), whole), (coded.dropLast(9), whole), (coded[...], whole + 1)] {
            server.serve(
                "/zeros",
                .ok(Bytes(Array(bytes))).field("Content-Encoding", "gzip").claiming(contentLength: length))
            #expect(try get(server.url("/zeros"), "--any").error?.code == "truncated", "\(bytes.count)")
        }
        var broken = coded
        broken[coded.count - 8] ^= 1
        server.serve("/zeros", .ok(Bytes(broken)).field("Content-Encoding", "gzip").claiming(contentLength: whole))
        #expect(try get(server.url("/zeros"), "--any").error?.code == "badResponse")
    }

    /// Returns a 206 with `body`.
    private func part(_ body: Bytes, _ range: String?) -> LoopbackServer.Response {
        var response = LoopbackServer.Response(status: 206, body: .bytes(body))
        if let range { response.fields.append("Content-Range", "bytes \(range)") }
        return response.field("Cache-Control", "max-age=600")
    }

    @Test("A 206 that covers the whole image is used as a 200, and stored")
    func wholePart() throws {
        let whole = part(jpeg, "0-\(jpeg.count - 1)/\(jpeg.count)")
        for response in [whole, whole.chunked(), whole.untilClose()] {
            server.serve("/a.jpg", response)
            #expect(try get(server.url("/a.jpg")).outcome == "ok")
            #expect(place.holds("out/a.jpg", jpeg.array))
            #expect(try get(server.url("/a.jpg"), "--size", "30x").outcome == "ok")
            #expect(place.run("info", server.url("/a.jpg")).status == 0)
        }
        #expect(try get(server.url("/a.jpg"), "--cache", "cache").from == "network")
        #expect(try get(server.url("/a.jpg"), "--cache", "cache").from == "disk")
    }

    @Test(
        "A 206 that does not cover the whole image fails as badStatus, or as truncated if it is too short")
    func otherPart() throws {
        let count = jpeg.count
        for range in [nil, "0-\(count - 1)/*", "0-\(count - 1)/\(count + 1)", "1-\(count)/\(count + 1)", "*/\(count)"] {
            server.serve("/a.jpg", part(jpeg, range))
            #expect(try get(server.url("/a.jpg"), "--any").error?.code == "badStatus", "\(range ?? "")")
        }
        server.serve("/a.jpg", part(jpeg, "0-\(count)/\(count + 1)"))
        #expect(try get(server.url("/a.jpg"), "--any").error?.code == "badStatus")
        server.serve("/a.jpg", part(jpeg, "0-\(count)/\(count + 1)").chunked())
        #expect(try get(server.url("/a.jpg"), "--any").error?.code == "truncated")
    }

    // MARK: Hosts and data

    @Test(
        "A host with symbols is reached under its ASCII name, also behind a redirect",
        arguments: [("☃", "xn--n3h"), ("💩", "xn--ls8h"), ("i❤", "xn--i-7iq"), ("bücher", "xn--bcher-kva")])
    func symbols(_ label: String, _ ascii: String) throws {
        let url = "http://\(label).localhost:\(server.port)/good.jpg"
        server.serve("/to", .redirect(to: url))
        for url in [url, server.url("/to"), "http://\(ascii).localhost:\(server.port)/good.jpg"] {
            #expect(try get(url, "--discard").outcome == "ok")
            #expect(server.requests.last?.fields["host"] == "\(ascii).localhost:\(server.port)")
        }
    }

    @Test(
        "A host name that maps to a delimiter fails as invalidURL",
        arguments: ["127.0.0.1：PORT", "127.0.0.1／.localhost", "me＠127.0.0.1"])
    func delimiters(_ host: String) throws {
        let url = "http://\(host.replacing("PORT", with: "\(server.port)"))/good.jpg"
        #expect(try get(url, "--discard").error?.code == "invalidURL")
        #expect(server.requestCount == 0)
    }

    @Test("An IPv6 address with a zone is reached, and the zone is not sent")
    func zone() throws {
        var configuration = LoopbackServer.Configuration()
        configuration.ipv6 = true
        let server = try LoopbackServer(configuration)
        server.serve("/good.jpg", .ok(jpeg))
        let url = "http://[::1%25lo]:\(server.port)/good.jpg"
        #expect(try get(url, "--discard").outcome == "ok")
        #expect(server.requests.last?.fields["host"] == "[::1]:\(server.port)")
        #expect(try get(url, "--discard", "--public-only").error?.code == "addressNotAllowed")
        #expect(try get("http://[fe80::1%25nothing-here]/", "--discard").error?.code == "invalidURL")
    }

    @Test("A data URL whose base64 has line breaks is decoded", arguments: ["\n", "\r\n", "%0A", "%0D%0A", " "])
    func lines(_ lineBreak: String) throws {
        let text = Array(Data(jpeg.array).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: 76).map { String(text[$0..<min($0 + 76, text.count)]) }
        let url = "data:image/jpeg;base64," + lines.joined(separator: lineBreak) + lineBreak
        #expect(try get(url, "--discard").bytes == jpeg.count)
        #expect(try get(url, "--discard", "--size", "30x").outcome == "ok")
    }

    // MARK: Messages

    /// Returns the message of a failure, after checking that it names no setting of the library.
    private func message(_ url: String, _ options: String...) throws -> String {
        let result = place.run(["get", url, "-o", "out"] + options)
        let line = try #require(try get(url, options: options).error)
        #expect(line.message.firstMatch(of: /[a-z][A-Z]/) == nil, "\(line)")
        #expect(result.errors.contains(line.message), "\(result.errors)")
        return line.message
    }

    @Test("An error of get names the option that helps, and no setting of the library")
    func options() throws {
        server.serve("/never", .ok(jpeg).held("never", after: 10))
        server.serve("/r2.jpg", .redirect(to: "/r1.jpg"))
        server.serve("/r1.jpg", .redirect(to: "/good.jpg"))
        server.serve("/chunked", .ok(jpeg).chunked())
        place.write("large.jpg", jpeg.array)
        let (good, file) = (server.url("/good.jpg"), "file://\(place.path)/large.jpg")
        let data = "data:image/jpeg;base64,\(Data(jpeg.array).base64EncodedString())"
        for url in [good, server.url("/chunked"), file, data] {
            #expect(try message(url, "--max-bytes", "9").contains("Raise --max-bytes"))
        }
        #expect(try message(server.url("/never"), "--timeout", "0.2").contains("Raise --timeout"))
        #expect(try message(server.url("/r2.jpg"), "--max-redirects", "1").hasSuffix("Raise --max-redirects."))
        #expect(try message(good, "--max-pixels", "9").contains("Raise --max-pixels"))
        #expect(try message(good, "--public-only").hasSuffix("or omit --public-only."))
        #expect(
            try message("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>", "--size", "9x")
                .hasSuffix("Enable it with --svg."))
        var configuration = LoopbackServer.Configuration()
        configuration.tls = .init(authority: try LoopbackServer.CertificateAuthority())
        let secure = try LoopbackServer(configuration)
        #expect(try message(secure.url("/good.jpg")).hasSuffix("specify its CA file with --cacert."))
    }

    @Test("Advice for which there is no option is left out")
    func noOption() {
        let get = OptionNames.get
        for (text, expected) in [
            ("It stalled. Try again later, or raise stallTimeout.", "It stalled. Try again later."),
            (
                "It is long. It may be malicious. Raise maximumDecodeTime if you trust it.",
                "It is long. It may be malicious."
            ),
            (
                "No room. Free space, or raise maximumBodyBytesInFlight.",
                "No room. Free space, or raise --max-in-flight."
            ),
            (
                "Refused. Use another address, or change the address policy.",
                "Refused. Use another address, or omit --public-only."
            ),
            ("Nothing.", "Nothing."), ("", ""),
        ] {
            #expect(get.message(text) == expected)
        }
        #expect(
            OptionNames.batch.message("Slow. Try again, or raise stallTimeout.").hasSuffix("raise --stall-timeout."))
        #expect(OptionNames.batch.message("Or change the address policy.") == "Or add --allow-private.")
    }

    @Test("A truncated image is worth another fetch, a corrupt one is not")
    func fetchAgain() throws {
        server.serve("/cut.jpg", .ok(jpeg.part(0..<jpeg.count / 2)))
        #expect(try message(server.url("/cut.jpg")).hasSuffix("is truncated. Fetch it again."))
        let png = try TestImages.make(.png, 8, 8).array
        server.serve("/bad.png", .ok(Bytes(png[..<40] + [png[40] ^ 1] + png[41...])))
        for options in [[], ["--size", "4x"]] {
            let line = try get(server.url("/bad.png"), options: options)
            #expect(line.error?.message.contains("corrupt") == true, "\(line)")
            #expect(line.error?.message.hasSuffix("Use another copy of it.") == true, "\(line)")
        }
    }

    /// Returns the bytes of a text in which `\\e9` stands for the byte 0xE9.
    private static func bytes(_ text: String) -> [UInt8] {
        let parts = text.split(separator: "\\", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: Array(parts[0].utf8)) {
            $0 += [UInt8($1.prefix(2), radix: 16)!] + Array($1.dropFirst(2).utf8)
        }
    }
}
