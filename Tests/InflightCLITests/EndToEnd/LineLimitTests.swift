import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// How many lines of its list `inflight get` takes before earlier ones have ended.
@Suite(.timeLimit(.minutes(10)))
final class LineLimitTests: EndToEndSuite {
    private func list(_ paths: [String]) { place.write("list", paths.map { "\($0)\n" }.joined()) }

    @Test(
        "Four images for each connection are in progress at once, two if they are encoded, also after an interruption")
    func bodies() throws {
        for (options, expected) in [([], 4), (["--format", "png"], 2)] {
            let server = try LoopbackServer()
            server.serveOthers { [jpeg] _ in .ok(jpeg).held("slow") }
            list((0..<9).map { server.url("/\($0).jpg") })
            let command = RunningCommand(
                ["get", "-i", "list", "--discard", "--verbose", "--concurrency", "1"] + options, in: place)
            try server.blockUntilHeld("slow")
            command.signal(SIGINT)
            let result = command.wait()
            #expect(result.status == 130)
            let requested = result.errors.split(separator: "\n").filter { $0.hasSuffix("requested") }
            #expect(requested.count == expected, "\(result.errors)")
        }
    }

    @Test("4,096 lines wait at most for the report of an earlier one, and are reported in order after it")
    func unreported() throws {
        server.serve("/first.jpg", .ok(jpeg).held("first"))
        server.serve("/near.jpg", .ok(jpeg).held("near"))
        var lines = (0..<4_200).map { "data:,\($0)" }
        lines[0] = server.url("/first.jpg")
        lines[4_000] = server.url("/near.jpg")
        lines[4_150] = server.url("/good.jpg")
        list(lines)
        let command = RunningCommand(["get", "-i", "list", "--discard", "--any", "--json"], in: place)
        try server.blockUntilHeld("near")
        server.release("near")
        // The time of a whole run, in which the first one would have taken its last lines.
        let others = (0..<4_200).map { "data:,\($0)\n" }.joined()
        #expect(place.run("get", "-i", "-", "--discard", "--any", "--json", input: others).status == 0)
        #expect(server.requestCount(of: "/good.jpg") == 0)
        server.release("first")
        let result = command.wait()
        #expect(result.status == 0)
        #expect(try result.lines.map(\.url) == lines)
    }
}
