import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Output of `--har`.
@Suite(.timeLimit(.minutes(10)))
final class HARTests: EndToEndSuite {
    /// Runs `get` with `--har`, and returns the entries in the order in which they began.
    private func entries(_ arguments: String..., status: Int32 = 0) throws -> [HARFile.Entry] {
        let result = place.run(["get", "--har", "h.har"] + arguments)
        #expect(result.status == status, "\(result.errors)")
        return try entries()
    }

    private func entries() throws -> [HARFile.Entry] {
        let file = try HARFile(try #require(place.read("h.har")))
        #expect(file.problems == [])
        #expect(file.log.creator.name == "inflight" && !file.log.creator.version.isEmpty)
        #expect(place.names.filter { $0.hasPrefix("h.har") || $0.hasPrefix(".") } == ["h.har"])
        return file.log.entries.sorted { $0.startedDateTime < $1.startedDateTime }
    }

    @Test("--har writes one entry for each request of a redirect, in the order in which they ended")
    func redirect() throws {
        server.serve("/moved.jpg", .redirect(to: "/good.jpg?token=hidden"))
        let url = server.url("/moved.jpg?w=3")
        let entries = try entries(url, "--discard", "--header", "X-Own: hidden", "--header", "Accept: image/jpeg")
        #expect(entries.map(\.response.status) == [302, 200])
        #expect(entries[0].request.url == url && entries[0].response.redirectURL == "/good.jpg?token=redacted")
        #expect(entries[0].timings.connect >= 0 && entries[0].timings.blocked == -1)
        #expect(entries[1].request.url == server.url("/good.jpg?token=redacted"))
        #expect(entries[1].timings.connect == -1 && entries[1].timings.blocked >= 0)
        #expect(entries[1].response.httpVersion == "HTTP/1.1")
        #expect(entries[1].response.content.mimeType == "image/jpeg")
        #expect(entries[1].response.content.size == jpeg.count && entries[1].response.bodySize == jpeg.count)
        for entry in entries { #expect(entry.request["x-own"] == "redacted" && entry.request["accept"] == "redacted") }
        #expect(try !String(decoding: #require(place.read("h.har")), as: UTF8.self).contains("hidden"))
    }

    @Test("A retried request and a resumed transfer are entries of their own")
    func attempts() throws {
        server.serve("/busy.jpg", inOrder: [.status(503).field("Retry-After", "0"), .ok(jpeg)])
        let retried = try entries(server.url("/busy.jpg"), "--discard", "--retries", "2")
        #expect(retried.map(\.response.status) == [503, 200])
        let half = jpeg.count / 2
        server.serve("/cut.jpg") { [jpeg] request in
            let response = LoopbackServer.Response.ranged(jpeg, for: request, etag: "\"1\"")
            return request.fields.contains("Range") ? response : response.truncated(after: half)
        }
        let resumed = try entries(server.url("/cut.jpg"), "--discard", "--retries", "2")
        #expect(resumed.map(\.response.status) == [200, 206])
        #expect(resumed[0].response._error?.hasPrefix("truncated: ") == true)
        #expect(resumed[0].response.content.size == half && resumed[0].response.bodySize == -1)
        #expect(resumed[1].request["range"] == "bytes=\(half)-")
        #expect(resumed[1].response.bodySize == jpeg.count - half)
    }

    @Test("A body that arrives in pieces has the size of all of them")
    func pieces() throws {
        let body = Bytes([UInt8](repeating: 7, count: 300_000))
        server.serve("/large", .ok(body, type: "video/mp4").chunked([1000, 200_000]))
        let entry = try #require(try entries(server.url("/large"), "--discard", "--any").first)
        #expect(entry.response.content.size == 300_000 && entry.response.bodySize >= 300_000)
        #expect(entry.response.content.compression == nil)
    }

    @Test("A revalidation has an entry; a cache hit, a file and a data: URL have none")
    func cache() throws {
        server.serve("/fresh.jpg", .ok(jpeg).field("Cache-Control", "max-age=600").field("ETag", "\"1\""))
        _ = try entries(server.url("/fresh.jpg"), "--discard", "--cache", "cache")
        place.write("own.jpg", jpeg.array)
        let others = ["file://\(place.appending("own.jpg"))", "data:text/plain,x"]
        #expect(try entries(server.url("/fresh.jpg"), others[0], "--discard", "--cache", "cache").isEmpty)
        #expect(try entries(others[1], "--discard", "--any", "--cache", "cache").isEmpty)
        server.serve("/fresh.jpg", .status(304).field("ETag", "\"1\""))
        let entries = try entries(
            server.url("/fresh.jpg"), "--discard", "--cache", "cache", "--cache-policy", "refresh")
        #expect(entries.map(\.response.status) == [304])
        #expect(entries[0].request["if-none-match"] == "\"1\"")
        #expect(entries[0].response.bodySize == 0 && entries[0].response.content.size == 0)
    }

    @Test("A request without a response is an entry with status 0 and its error")
    func failure() throws {
        server.serve("/reset.jpg", .ok(jpeg).at(.head, .reset))
        let port = try LoopbackServer().port
        let entries = try entries(
            server.url("/reset.jpg"), "http://127.0.0.1:\(port)/", "--discard", "--concurrency", "1", status: 1)
        #expect(entries.map(\.response.status) == [0, 0])
        #expect(entries.allSatisfy { $0.response._error?.hasPrefix("cannotConnect: ") == true })
        #expect(entries.map { $0.timings.connect >= 0 } == [true, true])
    }

    @Test("A TLS handshake is part of a new connection, and its failure an error")
    func tls() throws {
        var configuration = LoopbackServer.Configuration()
        let authority = try LoopbackServer.CertificateAuthority()
        configuration.tls = .init(authority: authority)
        let secure = try LoopbackServer(configuration)
        secure.serve("/good.jpg", .ok(jpeg))
        place.write("ca.pem", authority.pem)
        let urls = [secure.url("/good.jpg?1"), secure.url("/good.jpg?2")]
        let trusted = try entries(urls[0], urls[1], "--discard", "--concurrency", "1", "--cacert", "ca.pem")
        #expect(trusted.map { $0.timings.ssl > 0 } == [true, false])
        #expect(trusted.map { $0.timings.blocked >= 0 } == [false, true])
        let refused = try entries(urls[0], "--discard", status: 1)
        #expect(refused.first?.response._error?.hasPrefix("untrusted: ") == true)
        #expect(refused.first.map { $0.timings.connect > 0 } == true)
    }

    @Test("An interrupted run still writes the exchanges until then")
    func interrupted() throws {
        server.serve("/slow.jpg", .ok(Bytes("x")).held("slow"))
        let command = RunningCommand(
            ["get", server.url("/good.jpg"), server.url("/slow.jpg"), "--discard", "--json", "--har", "h.har"],
            in: place, pipesOutput: true)
        #expect(command.readLine().contains("\"ok\""))
        try server.blockUntilHeld("slow", count: 1)
        command.signal(SIGINT)
        #expect(command.wait().status == 130)
        server.release("slow")
        let entries = try entries()
        #expect(entries.map(\.response.status).sorted() == [0, 200])
        #expect(entries.contains { $0.response._error?.hasPrefix("cancelled: ") == true })
    }

    @Test("--har does not change the loads, and a run without requests writes an empty archive")
    func unchanged() throws {
        let urls = (0..<40).map { server.url($0 % 4 == 0 ? "/missing.jpg?\($0)" : "/good.jpg?\($0)") }
        place.write("list", (urls + ["nonsense"]).joined(separator: "\n"))
        let plain = place.run("get", "-i", "list", "--discard", "--json")
        let logged = place.run("get", "-i", "list", "--discard", "--json", "--har", "h.har", "--trace", "t.json")
        #expect(try plain.lines.map(\.outcome) == logged.lines.map(\.outcome))
        #expect(try entries().count == 40)
        #expect(try TraceFile(#require(place.read("t.json"))).problems == [])
        #expect(try entries("nonsense", "--discard", status: 1).isEmpty)
    }

    @Test("An unwritable archive is reported before any request", arguments: ["none/h.har", "."])
    func unwritable(_ path: String) {
        let result = place.run("get", server.url("/good.jpg"), "-o", "out", "--trace", "t.json", "--har", path)
        #expect(result.status == 1)
        #expect(result.errors.contains("Cannot write the HTTP Archive \"\(path)\": "))
        #expect(result.errors.contains("--har FILE"))
        #expect(server.requestCount == 0)
        #expect(place.names == [])
    }

    @Test(
        "Two outputs in one file are a usage error before any request",
        arguments: [
            ["-o", "out", "--trace", "a", "--har", "./a"], ["-o", "out", "--report", "a", "--har", "../PLACE/a"],
            ["-o", "out", "--trace", "a", "--report", "a"], ["-o", "a.jpg", "--har", "a.jpg"],
        ])
    func sameFile(_ arguments: [String]) {
        let name = String(place.path.split(separator: "/").last ?? "")
        let result = place.run(["get", server.url("/good.jpg")] + arguments.map { $0.replacing("PLACE", with: name) })
        #expect(result.status == 64)
        #expect(result.errors.contains("name the same file"), "\(result.errors)")
        #expect(server.requestCount == 0)
        #expect(place.names == [])
    }

    @Test(
        "A disk that fills up is reported, and leaves no file",
        .enabled(if: !Sanitizer.isOn, "a sanitizer has files of its own, which the limit hits first"))
    func fullDisk() {
        let url = server.url("/good.jpg?" + String(repeating: "x", count: 8000))
        let result = place.run(
            ["get"] + (0..<40).map { "\(url)\($0)" } + ["--discard", "--har", "h.har"], prefix: "ulimit -f 64")
        #expect(result.status == 1)
        #expect(result.errors.contains("Cannot write the HTTP Archive \"h.har\": File too large"), "\(result.errors)")
        #expect(place.names == [])
    }
}
