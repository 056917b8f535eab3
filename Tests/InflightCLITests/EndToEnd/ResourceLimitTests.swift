import InflightCore
import InflightTestSupport
import Testing

/// How the command behaves with few system resources.
@Suite(.timeLimit(.minutes(10)))
struct ResourceLimitTests {
    private let place = TemporaryDirectory()

    @Test("With few file descriptors, connections wait and all images are loaded", arguments: [32, 64])
    func fewDescriptors(limit: Int) throws {
        let server = try LoopbackServer()
        server.serveOthers { _ in .ok(Bytes("x")) }
        place.write("list", (0..<200).map { server.url("/\($0)") }.joined(separator: "\n"))
        let result = place.run(
            "get", "-i", "list", "--any", "--discard", "--no-cache", "--concurrency", "1000",
            "--per-host", "1000", prefix: "ulimit -n \(limit)")
        #expect(result.status == 0, "\(result.errors.suffix(500))")
        #expect(server.maximumOpenConnections < limit)
    }

    @Test("With very few file descriptors, the command succeeds or fails with a message", arguments: 4...28)
    func hardlyADescriptor(limit: Int) throws {
        let server = try LoopbackServer()
        server.serve("/a", .ok(Bytes("x")))
        let result = place.run("get", server.url("/a"), "--any", "--discard", prefix: "ulimit -n \(limit)")
        #expect([0, 1, 66].contains(result.status), "\(result.status)")
        if result.status != 0 { #expect(result.errors.contains("ulimit -n"), "\(result.errors)") }
    }

    @Test(
        "With little address space, the command succeeds or fails with a message",
        .enabled(if: !Sanitizer.isOn, "a sanitizer takes terabytes of it"), arguments: [150_000, 250_000, 400_000])
    func littleMemory(kilobytes: Int) throws {
        let server = try LoopbackServer()
        server.serve("/a", .ok(Bytes("x")))
        let result = place.run("get", server.url("/a"), "--any", "--discard", prefix: "ulimit -v \(kilobytes)")
        // 127: the system could not even load the program.
        #expect([0, 1, 127].contains(result.status), "\(result.status)")
        if result.status == 1 { #expect(result.errors.contains("ulimit -v"), "\(result.errors)") }
    }
}
