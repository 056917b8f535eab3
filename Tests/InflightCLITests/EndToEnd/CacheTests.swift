import FoundationEssentials
import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Responses cached by earlier runs, and retries.
@Suite(.timeLimit(.minutes(10)))
final class CacheTests: EndToEndSuite {
    /// Returns the `from` of the first line.
    private func source(_ path: String, _ options: String..., environment: [String: String] = [:]) throws -> String? {
        let result = place.run(
            ["get", server.url(path), "-o", "out", "--json"] + options, environment: environment)
        return try result.lines.first?.from
    }

    @Test(
        "A fresh response is served from the cache, a stale one is revalidated, and the report shows which")
    func sources() throws {
        server.serve("/fresh.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        server.serve("/stale.jpg") { [jpeg] request in
            if request.fields["If-None-Match"] == "\"a\"" { return .status(304).field("ETag", "\"a\"") }
            return .ok(jpeg).field("Cache-Control", "no-cache").field("ETag", "\"a\"")
        }
        for (path, second) in [("/fresh.jpg", "disk"), ("/stale.jpg", "revalidated")] {
            #expect(try source(path, "--cache", "cache") == "network")
            #expect(try source(path, "--cache", "cache") == second)
            #expect(try source(path, "--cache", "cache", "--cache-policy", "prefer-cached") != "network")
            for policy in ["no-store", "reload"] {
                #expect(try source(path, "--cache", "cache", "--cache-policy", policy) == "network")
            }
            #expect(try source(path, "--no-cache") == "network")
        }
        #expect(server.requests(of: "/fresh.jpg").count == 4)
        let told = place.run("get", server.url("/fresh.jpg"), "-o", "out", "--cache", "cache").errors
        #expect(told.contains("from the cache"))
    }

    @Test("By default the cache is in the cache folder of the user, and it is private")
    func folder() throws {
        server.serve("/a.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        let home = ["HOME": place.path]
        #expect(try source("/a.jpg", environment: home) == "network")
        #expect(try source("/a.jpg", environment: home) == "disk")
        var status = stat()
        #expect(unsafe stat(place.appending(".cache/inflight"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        let elsewhere = ["HOME": place.path, "XDG_CACHE_HOME": place.appending("caches")]
        #expect(try source("/a.jpg", environment: elsewhere) == "network")
        #expect(TemporaryDirectory.names(place.appending("caches")) == ["inflight"])
    }

    @Test("Without a usable home folder the command works without a cache, and warns once about an unusable one")
    func homes() throws {
        server.serve("/a.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        server.serve("/b.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        // A file as the home folder is unusable for root, too.
        for (home, warnings) in [("", 0), ("/dev/null", 1), (place.appending("list.txt"), 1)] {
            place.write("list.txt", "")
            let result = place.run(
                "get", server.url("/a.jpg"), server.url("/b.jpg"), "-o", "out", environment: ["HOME": home])
            #expect(result.status == 0, "\(home): \(result.errors)")
            #expect(result.errors.ranges(of: "Continuing without a cache").count == warnings, "\(home)")
        }
    }

    @Test("Requests that differ only in Cookie are cached separately, and no cookie is stored")
    func cookies() throws {
        server.serve("/a.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        for (cookie, expected) in [("s3cret=1", "network"), ("s3cret=2", "network"), ("s3cret=1", "disk")] {
            #expect(try source("/a.jpg", "--cache", "cache", "--header", "Cookie: \(cookie)") == expected)
        }
        #expect(try source("/a.jpg", "--cache", "cache") == "network")
        #expect(server.requests(of: "/a.jpg").map { $0.fields["Cookie"] } == ["s3cret=1", "s3cret=2", nil])
        let files = try FileManager.default.subpathsOfDirectory(atPath: place.appending("cache"))
        let bytes = files.flatMap { Array($0.utf8) + (place.read("cache/" + $0) ?? []) }
        #expect(bytes.count > jpeg.count)
        #expect(bytes.firstRange(of: Array("s3cret".utf8)) == nil)
    }

    @Test("A stale image replaces an unreachable server only with --stale-on-disconnect")
    func disconnected() throws {
        server.serve("/a.jpg", .ok(jpeg).field("Cache-Control", "max-age=0"))
        #expect(try source("/a.jpg", "--cache", "cache") == "network")
        let url = server.url("/a.jpg")
        server.stop()
        let alone = place.run("get", url, "-o", "out", "--json", "--cache", "cache", "--retries", "0")
        #expect(alone.status == 1)
        let standIn = place.run(
            "get", url, "-o", "out", "--json", "--cache", "cache", "--retries", "0", "--stale-on-disconnect")
        #expect(try standIn.lines.first?.from == "disk" && standIn.status == 0)
    }

    @Test("The policy only-cached sends no request, and a miss fails as notStored")
    func onlyCached() throws {
        let result = place.run(
            "get", server.url("/a.jpg"), "-o", "out", "--json", "--cache", "cache", "--cache-policy", "only-cached")
        #expect(result.status == 1)
        #expect(try result.lines.first?.error?.code == "notStored")
        #expect(server.requestCount == 0)
    }

    @Test("A folder that is not a cache is left unchanged, and the run warns once and uses no cache")
    func foreignFolder() throws {
        server.serve("/a.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        server.serve("/b.jpg", .ok(jpeg).field("Cache-Control", "max-age=600"))
        _ = unsafe mkdir(place.appending("mine"), 0o755)
        place.write("mine/letter.txt", "Dear Sir")
        let result = place.run("get", server.url("/a.jpg"), server.url("/b.jpg"), "-o", "out", "--cache", "mine")
        #expect(result.status == 0)
        #expect(result.errors.ranges(of: "without a cache").count == 1)
        #expect(TemporaryDirectory.names(place.appending("mine")) == ["letter.txt"])
    }

    @Test("After a kill during a long body, the next run requests only the rest")
    func resumes() throws {
        let body = Bytes([UInt8](repeating: 7, count: 3 << 20))
        server.serve("/long") { request in
            let answer = LoopbackServer.Response.ranged(body, for: request, etag: "\"a\"")
            return request.fields["Range"] == nil ? answer.held("rest", after: body.count - 1000) : answer
        }
        let options = ["get", server.url("/long"), "-o", "out", "--any", "--cache", "cache"]
        let killed = RunningCommand(options, in: place)
        try server.blockUntilHeld("rest", within: .seconds(50))
        while !keepsPart() { sched_yield() }
        killed.signal(SIGKILL)
        _ = killed.wait()
        server.release("rest")
        let result = place.run(options)
        #expect(result.status == 0, "\(result.errors)")
        let last = try #require(server.requests(of: "/long").last)
        #expect(last.fields["If-Range"] == "\"a\"")
        #expect(last.fields["Range"]?.hasPrefix("bytes=") == true)
        #expect(place.holds("out/long", body.array))
    }

    /// Whether the cache lists a partial body, which then outlives the process that stored it.
    private func keepsPart() -> Bool {
        place.run("cache", "list", "--json", "--cache", "cache").text.contains("\"whole\":false")
    }

    @Test("A transient failure is retried up to --retries times")
    func retries() throws {
        server.serve("/a.jpg", .status(503).field("Retry-After", "0"))
        for count in 0...1 {
            let before = server.requestCount
            let result = place.run("get", server.url("/a.jpg"), "-o", "out", "--retries", "\(count)")
            #expect(result.status == 1)
            #expect(server.requestCount == before + 1 + count)
        }
    }

    @Test("A body that does not match --checksum fails as damaged and is not stored")
    func checksums() throws {
        server.serve("/abc", .ok(Bytes("abc")).field("Cache-Control", "max-age=600"))
        // The example of FIPS 180-4.
        let sum = "sha256:BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let wrong = "sha256:" + String(repeating: "0", count: 64)
        let options = ["get", server.url("/abc"), "-o", "out", "--any", "--json", "--cache", "cache", "--checksum"]
        let failed = place.run(options + [wrong])
        #expect(failed.status == 1)
        #expect(try failed.lines.first?.error?.code == "damaged")
        #expect(TemporaryDirectory.names(place.appending("out")).isEmpty)
        #expect(try place.run(options + [sum]).lines.first?.from == "network")
        #expect(try place.run(options + [sum]).lines.first?.from == "disk")
        #expect(place.holds("out/abc", Array("abc".utf8)))
    }
}
