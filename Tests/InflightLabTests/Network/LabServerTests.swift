import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightLab

@Suite(.timeLimit(.minutes(10)))
struct LabServerTests {
    private func download(_ source: LabServer, _ path: String) async -> [UInt8]? {
        await DedicatedThread.run { BlockingDownload.body(port: source.port, path: path) }
    }

    @Test("The source sends the parts of a response in order, including a large one")
    func parts() async throws {
        let source = try LabServer()
        let large = [UInt8](repeating: 7, count: 3_000_000)
        source.serve("/a", [.bytes([1, 2]), .pause(.milliseconds(1)), .bytes(large), .bytes([3])])
        #expect(await download(source, "/a") == [1, 2] + large + [3])
        #expect(await download(source, "/a")?.count == large.count + 3)
    }

    @Test("An unknown path is not found, and an empty response is empty")
    func missing() async throws {
        let source = try LabServer()
        source.serve("/empty", [])
        #expect(await download(source, "/none") == nil)
        #expect(await download(source, "/empty") == [])
    }

    @Test("A response waits at its gate while others are served, and each request is counted")
    func gates() async throws {
        let source = try LabServer()
        source.serve("/held", [.bytes([1]), .gate("go"), .bytes([2])])
        source.serve("/free", [.bytes([3])])
        async let held = download(source, "/held")
        #expect(await DedicatedThread.run { source.waitForRequests(1, timeout: .seconds(30)) })
        #expect(await download(source, "/free") == [3])
        source.open("go")
        #expect(await held == [1, 2])
        #expect(await DedicatedThread.run { source.waitForRequests(3, timeout: .zero) } == false)
    }

    @Test("A download from a closed port returns nil")
    func nobody() async throws {
        let port = try LabServer().port
        #expect(await DedicatedThread.run { BlockingDownload.body(port: port, path: "/x") } == nil)
    }
}
