import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Unreachable origins, and large numbers of failures.
@Suite(.timeLimit(.minutes(10)))
struct UnavailableTests {
    private let place = TemporaryDirectory()
    /// No server listens at this URL any more.
    private let url: String

    init() throws {
        let gone = try LoopbackServer()
        url = gone.url("/")
        gone.stop()
    }

    private func run(_ options: String...) -> CommandResult {
        let list = (0..<500).map { "\(url)\($0)" }.joined(separator: "\n")
        return place.run(["get", "-i", "-", "--discard"] + options, input: list)
    }

    @Test("Equal failures of an origin are printed three times, then counted; --json lists each URL")
    func grouped() throws {
        let result = run()
        #expect(result.status == 1)
        let failures = result.errors.split(separator: "\n").filter { $0.hasPrefix("failed ") }
        #expect(failures.count { $0.contains(": originUnavailable: http") } == 3)
        #expect(failures.count { $0.contains(": cannotConnect: Cannot connect to") } == 3)
        #expect(failures.count { $0.contains(" more (use --verbose") } == 2)
        #expect(failures.contains { $0.contains(": originUnavailable: ") && $0.hasSuffix("--verbose to print all)") })
        let all = run("--verbose").errors.split(separator: "\n").count { $0.hasPrefix("failed ") }
        #expect(all == 500)
        let lines = try run("--json").lines
        #expect(lines.count == 500)
        #expect(lines.count { $0.error?.code == "originUnavailable" } > 400)
    }

    @Test("--circuit-breaker 0 attempts every URL")
    func disabled() throws {
        let lines = try run("--json", "--circuit-breaker", "0").lines
        #expect(lines.count { $0.error?.code == "cannotConnect" } == 500)
    }
}

@Suite("Without a usable libcurl", .timeLimit(.minutes(10)))
struct MissingLibraryTests {
    private let place = TemporaryDirectory()

    @Test("URLs over HTTP fail with a message, files still load, and nothing is repeated")
    func missing() throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        // The loader finds this file first, and cannot load it.
        place.write("libcurl.so.4", [])
        place.write("list.txt", "\(server.url("/a.jpg"))\n\(server.url("/b.jpg"))\n")
        let environment = ["LD_LIBRARY_PATH": place.path]
        let result = place.run("get", "-i", "list.txt", "--discard", environment: environment)
        #expect(result.status == 1)
        let failures = result.errors.split(separator: "\n").filter { $0.hasPrefix("failed ") }
        #expect(failures.count == 2)
        #expect(
            failures.allSatisfy {
                $0.contains(": unsupportedScheme: libcurl cannot be used (")
                    && $0.hasSuffix("Install version 7.84 or later, Debian's package libcurl4.")
            })
        #expect(server.requestCount == 0)
        let file = "file://\(place.path)/list.txt"
        #expect(place.run("get", file, "--any", "--discard", environment: environment).status == 0)
    }
}

@Suite("Groups of equal failures", .timeLimit(.minutes(10)))
struct FailureGroupTests {
    @Test("The first three failures of each origin and error are shown, and the rest is counted")
    func groups() {
        var groups = FailureGroups()
        let origins = ["a", "b"].map { Origin(scheme: "http", host: $0, port: 80) }
        func show(_ origin: Int, _ code: String, _ status: Int? = nil) -> Bool {
            groups.shows(Report.Digest.Failure(code: code, status: status), of: origins[origin])
        }
        #expect((0..<5).map { _ in show(0, "badStatus", 404) } == [true, true, true, false, false])
        #expect((0..<4).map { _ in show(1, "badStatus", 404) } == [true, true, true, false])
        #expect(show(0, "badStatus", 410) && show(0, "timedOut"))
        let hidden = groups.takeHidden().map { "\($0.group.origin) \($0.group.failure) \($0.count)" }
        #expect(hidden == ["http://a:80 http_404 2", "http://b:80 http_404 1"])
        #expect(groups.takeHidden().isEmpty)
        for number in 0..<FailureGroups.mostGroups { _ = show(0, "code\(number)") }
        #expect((0..<5).allSatisfy { _ in show(0, "another") })
    }
}
