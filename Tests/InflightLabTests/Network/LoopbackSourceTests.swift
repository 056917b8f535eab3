import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightLab

@Suite(.timeLimit(.minutes(10)))
struct LoopbackSourceTests {
    private func download(_ source: LoopbackSource, _ path: String) async -> [UInt8]? {
        await OwnThread.run { BlockingDownload.body(port: source.port, path: path) }
    }

    @Test("It sends the parts of an answer in their order, a large one too")
    func parts() async throws {
        let source = try LoopbackSource()
        let large = [UInt8](repeating: 7, count: 3_000_000)
        source.serve("/a", [.bytes([1, 2]), .pause(.milliseconds(1)), .bytes(large), .bytes([3])])
        #expect(await download(source, "/a") == [1, 2] + large + [3])
        #expect(await download(source, "/a")?.count == large.count + 3)
    }

    @Test("What was not put there is not found, and an empty answer is empty")
    func missing() async throws {
        let source = try LoopbackSource()
        source.serve("/empty", [])
        #expect(await download(source, "/none") == nil)
        #expect(await download(source, "/empty") == [])
    }

    @Test("An answer waits at its gate, others do not; requests are counted as they come")
    func gates() async throws {
        let source = try LoopbackSource()
        source.serve("/held", [.bytes([1]), .gate("go"), .bytes([2])])
        source.serve("/free", [.bytes([3])])
        async let held = download(source, "/held")
        #expect(await OwnThread.run { source.waitForRequests(1, patience: .seconds(30)) })
        #expect(await download(source, "/free") == [3])
        source.open("go")
        #expect(await held == [1, 2])
        #expect(await OwnThread.run { source.waitForRequests(3, patience: .zero) } == false)
    }

    @Test("Where nobody listens any more there is no answer, and no waiting")
    func nobody() async throws {
        let port = try LoopbackSource().port
        #expect(await OwnThread.run { BlockingDownload.body(port: port, path: "/x") } == nil)
    }
}
