import FoundationEssentials
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Requests to servers: header fields, limits, timeouts and certificates.
@Suite(.timeLimit(.minutes(10)))
final class NetworkTests: EndToEndSuite {
    @Test("--header goes to every host, without credentials on redirects; --header-for goes to one host")
    func headers() throws {
        let other = try LoopbackServer()
        other.serve("/good.jpg", .ok(jpeg))
        server.serve("/moved.jpg", .redirect(to: other.url("/good.jpg")))
        let result = place.run(
            "get", server.url("/moved.jpg"), other.url("/good.jpg") + "?direct", "-o", "out", "--header", "X-All: 1",
            "--header", "Authorization: secret", "--header-for", "127.0.0.1:\(server.port)", "X-One: 2", "--header-for",
            "localhost", "X-Never: 3")
        #expect(result.status == 0)
        let first = try #require(server.requests(of: "/moved.jpg").first)
        #expect(first.fields["X-All"] == "1" && first.fields["Authorization"] == "secret")
        #expect(first.fields["X-One"] == "2" && first.fields["X-Never"] == nil)
        let followed = try #require(other.requests.first { $0.target == "/good.jpg" })
        #expect(followed.fields["X-All"] == "1")
        #expect(followed.fields["Authorization"] == nil && followed.fields["X-One"] == nil)
        let direct = try #require(other.requests.first { $0.target == "/good.jpg?direct" })
        #expect(direct.fields["Authorization"] == "secret" && direct.fields["X-One"] == nil)
    }

    @Test("Cookies that a redirect sets are sent to its target, beside --header, and nothing of them is stored")
    func redirectCookies() throws {
        let jpeg = jpeg
        server.serve("/gate.jpg") { request in
            request.fields["Cookie"] == "token=t0ps3cret; own=1"
                ? .ok(jpeg, type: "image/jpeg").field("Cache-Control", "max-age=600")
                : .redirect(to: "/gate.jpg").field("Set-Cookie", "token=t0ps3cret; Path=/")
                    .field("Cache-Control", "max-age=600")
        }
        for count in [2, 3] {
            // The second run asks for the redirect again, and finds its target in the cache.
            let result = place.run(
                "get", server.url("/gate.jpg"), "-o", "out", "--cache", "cache", "--header", "Cookie: own=1", "--json")
            #expect(try result.lines.first?.outcome == "ok", "\(result.errors)")
            #expect(server.requestCount == count)
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: place.appending("cache"))
        #expect(!files.isEmpty)
        for file in files {
            let bytes = place.read("cache/" + file) ?? []
            #expect(!String(decoding: bytes, as: UTF8.self).contains("t0ps3cret"), "\(file)")
        }
    }

    @Test("An interrupted transfer that makes progress is resumed more often than --retries")
    func progress() throws {
        let body = Bytes((0..<121_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        server.serve("/cut.bin") { request in
            LoopbackServer.Response.ranged(body, for: request, etag: "\"v\"").truncated(after: 30_000)
        }
        let result = place.run("get", server.url("/cut.bin"), "--any", "-o", "out", "--json", "--retries", "2")
        #expect(try result.lines.first?.outcome == "ok", "\(result.errors)")
        #expect(place.holds("out/cut.bin", body.array))
        #expect(server.requests.map { $0.fields["Range"] } == [nil] + (1...4).map { "bytes=\(30_000 * $0)-" })
        let none = place.run("get", server.url("/cut.bin?2"), "--any", "-o", "out", "--json", "--retries", "0")
        #expect(try none.lines.first?.error?.code == "truncated")
        #expect(server.requestCount == 6)
    }

    @Test("At most six connections go to one host, or as many as --per-host or --concurrency allow")
    func perHost() throws {
        for (options, limit) in [([], 6), (["--per-host", "2"], 2), (["--concurrency", "3"], 3)] as [([String], Int)] {
            let server = try LoopbackServer()
            server.serveOthers { [jpeg] _ in .ok(jpeg).held("all") }
            let command = RunningCommand(
                ["get", "--discard"] + (0..<20).map { server.url("/\($0)") } + options, in: place)
            try server.blockUntilHeld("all", count: limit)
            server.release("all")
            #expect(command.wait().status == 0)
            #expect(server.maximumOpenConnections == limit)
            #expect(server.requestCount == 20)
        }
    }

    @Test("A list is read only as fast as its lines are loaded")
    func backPressure() throws {
        server.serveOthers { [jpeg] _ in .ok(jpeg).held("all") }
        // Two images load at once, and the run submits up to four times as many. An invalid line fails as soon as it is
        // read, so it is reported after all lines that had to end before it was read.
        let lines = (0..<40).map { server.url("/\($0)") } + ["nonsense"] + (40..<50).map { server.url("/\($0)") }
        let command = RunningCommand(
            ["get", "-i", "-", "--discard", "--json", "--unordered", "--concurrency", "2"], in: place,
            input: lines.joined(separator: "\n"), pipesOutput: true)
        try server.blockUntilHeld("all", count: 2)
        #expect(server.requestCount == 2)
        server.release("all")
        let told = (0..<lines.count).map { _ in command.readLine() }
        #expect(told.allSatisfy { $0.hasSuffix("\n") })
        let bad = try #require(told.firstIndex { $0.contains("nonsense") })
        #expect(bad >= 40 - 4 * 2)
        #expect(command.wait().status == 1)
    }

    @Test("An untrusted certificate is refused unless --cacert names its authority")
    func certificates() throws {
        var configuration = LoopbackServer.Configuration()
        let authority = try LoopbackServer.CertificateAuthority()
        configuration.tls = .init(authority: authority)
        let secure = try LoopbackServer(configuration)
        secure.serve("/good.jpg", .ok(jpeg))
        let refused = place.run("get", secure.url("/good.jpg"), "-o", "out", "--json")
        #expect(try refused.lines.first?.error?.code == "untrusted")
        place.write("ca.pem", authority.pem)
        let trusted = place.run("get", secure.url("/good.jpg"), "-o", "out", "--json", "--cacert", "ca.pem")
        #expect(try trusted.lines.first?.outcome == "ok")
        #expect(place.holds("out/good.jpg", jpeg.array))
    }

    @Test("--timeout counts from the start of a load, not while it is queued")
    func timeoutStartsLate() throws {
        // Four loads of 0.7 s, one after the other: each is within 2.5 s, all four are not.
        for number in 0..<4 { server.serve("/\(number).jpg", .ok(jpeg).delayed(.milliseconds(700))) }
        let result = place.run(
            ["get"] + (0..<4).map { server.url("/\($0).jpg") }
                + ["-o", "out", "--per-host", "1", "--timeout", "2.5", "--json"])
        #expect(try result.lines.map(\.outcome) == ["ok", "ok", "ok", "ok"])
    }

    @Test("--max-bytes limits the decompressed body")
    func decompression() throws {
        let zipped = Gzip.zeros(runs: 4000)
        let count = 1 + 258 * 4000
        server.serve("/zeros", .ok(Bytes(zipped)).field("Content-Encoding", "gzip"))
        for limit in [count, count - 1] {
            let result = place.run(
                "get", server.url("/zeros"), "--any", "-o", "out", "--json", "--max-bytes", "\(limit)")
            let line = try #require(try result.lines.first)
            if limit == count {
                #expect(line.outcome == "ok" && line.bytes == count && line.wireBytes == zipped.count)
            } else {
                #expect(line.error?.code == "tooLarge")
            }
        }
    }
}
