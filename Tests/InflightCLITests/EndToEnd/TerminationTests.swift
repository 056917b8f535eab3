import Dispatch
import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// How `inflight get` ends on a signal, or after its output is closed.
@Suite(.timeLimit(.minutes(10)))
final class TerminationTests: EndToEndSuite {
    override init() throws {
        try super.init()
        server.serve("/slow.jpg", .ok(jpeg).held("slow", after: 100))
    }

    @Test(
        "SIGINT, SIGTERM and SIGHUP end get, keep finished files and leave no partial ones",
        arguments: [SIGINT, SIGTERM, SIGHUP])
    func signals(_ signal: Int32) throws {
        let command = RunningCommand(
            ["get", server.url("/good.jpg"), server.url("/slow.jpg"), "-o", "out", "--json"], in: place,
            pipesOutput: true)
        #expect(command.readLine().contains("\"ok\""))
        try server.blockUntilHeld("slow")
        command.signal(signal)
        let result = command.wait()
        #expect(result.status == 128 + signal)
        #expect(place.files(in: "out") == ["good.jpg"])
        #expect(place.holds("out/good.jpg", jpeg.array))
        #expect(result.errors.contains("Finished files are kept"))
        // The unfinished one is not reported.
        #expect(command.readLine().isEmpty)
        #expect(!result.errors.contains("failed"), "\(result.errors)")
    }

    @Test("The run after a SIGKILL removes temporary files, also of reports, traces and archives")
    func killed() throws {
        server.serve("/slow/good.jpg", .ok(jpeg).held("slow", after: 100))
        server.serve("/other.jpg", .ok(jpeg))
        let outputs = ["-o", "out", "--report", "r.html", "--trace", "t.json", "--har", "h.har"]
        // The second file is written, but its name depends on the first load.
        let command = RunningCommand(
            ["get", server.url("/slow/good.jpg"), server.url("/good.jpg"), server.url("/other.jpg")]
                + ["--json", "--unordered", "--per-host", "2"] + outputs, in: place, pipesOutput: true)
        try server.blockUntilHeld("slow")
        #expect(command.readLine().contains("other"))
        command.signal(SIGKILL)
        _ = command.wait()
        #expect(place.names.count { $0.hasPrefix(".inflight-") } == 3, "\(place.names)")
        #expect(place.files(in: "out").count { $0.hasPrefix(".inflight-") } == 1)
        #expect(place.run(["get", server.url("/good.jpg")] + outputs).status == 0)
        #expect(place.names == ["h.har", "out", "r.html", "t.json"])
        #expect(place.files(in: "out") == ["good.jpg", "other.jpg"])
    }

    @Test("A finished file that waits for its name gets it when the run is interrupted")
    func finishedAndUnnamed() throws {
        server.serve("/slow/good.jpg", .ok(jpeg).held("slow", after: 100))
        let others = (0..<8).map { "/other\($0).jpg" }
        for path in others { server.serve(path, .ok(jpeg)) }
        // One slot is held, so the others load one by one: when the last has ended, the second file has been written.
        let command = RunningCommand(
            ["get", server.url("/slow/good.jpg"), server.url("/good.jpg")] + others.map { server.url($0) }
                + ["-o", "out", "--json", "--unordered", "--per-host", "2"], in: place, pipesOutput: true)
        try server.blockUntilHeld("slow")
        for _ in others { #expect(command.readLine().contains("other")) }
        command.signal(SIGINT)
        #expect(command.readLine().contains("\"file\":\"out/good-2.jpg\""))
        #expect(command.wait().status == 130)
        #expect(place.holds("out/good-2.jpg", jpeg.array))
        #expect(place.files(in: "out").count == 9)
    }

    @Test("A signal ends get even if its output is full and unread", arguments: [SIGINT, SIGTERM])
    func stuckOutput(_ signal: Int32) throws {
        let command = RunningCommand(
            ["get", "-i", "-", "--discard", "--json"], in: place, input: nil, pipesOutput: true)
        // Far more output than a pipe holds, so that the command blocks in the middle of a line.
        let lines = String(repeating: "nonsense/\(String(repeating: "x", count: 1000))\n", count: 400)
        let writer = JoinableWriter(command, lines)
        defer { writer.join() }
        #expect(command.readLine().contains("invalidURL"))
        command.signal(signal)
        #expect(command.wait().status == 128 + signal)
    }

    @Test("SIGTERM ends get while it waits for list input and for a server")
    func waiting() throws {
        let command = RunningCommand(["get", "-i", "-", "-o", "out"], in: place, input: nil)
        command.type(server.url("/slow.jpg") + "\n")
        try server.blockUntilHeld("slow")
        let start = SystemClock().now()
        command.signal(SIGTERM)
        #expect(command.wait().status == 143)
        #expect(SystemClock().now() - start < .seconds(5))
        #expect(place.files(in: "out") == [])
    }

    @Test("SIGINT ends get between two lines of a list that never ends, none of which is requested")
    func endlessList() throws {
        let command = RunningCommand(
            ["get", server.url("/slow.jpg"), "-i", "list", "--discard"], in: place,
            prefix: "mkfifo list; yes nonsense >list &")
        try server.blockUntilHeld("slow")
        command.signal(SIGINT)
        let result = command.wait()
        #expect(result.status == 130)
        #expect(result.errors.contains("Interrupted"), "\(result.errors)")
    }

    @Test("A closed standard output ends get quietly")
    func closedOutput() throws {
        let command = RunningCommand(
            ["get", server.url("/good.jpg"), server.url("/slow.jpg"), "-o", "out", "--json", "--unordered"], in: place,
            pipesOutput: true)
        try server.blockUntilHeld("slow")
        command.closeOutput()
        server.release("slow")
        let result = command.wait()
        // The first line may have been written before the reader closed the pipe.
        #expect(result.status == 141)
        #expect(result.errors.isEmpty)
        #expect(!place.files(in: "out").contains { $0.hasPrefix(".") })
    }

    @Test("A closed standard output also ends help, version, info and a single get quietly")
    func closedOutputElsewhere() {
        for arguments in [
            ["--help"], ["--version"], ["get", server.url("/good.jpg")], ["info", server.url("/good.jpg")],
        ] {
            let result = place.run(arguments, prefix: "exec >&-")
            #expect(result.status == 141, "\(arguments)")
            #expect(result.errors.isEmpty, "\(arguments): \(result.errors)")
        }
    }

    @Test("--quiet prints only failures")
    func quiet() {
        #expect(place.run("get", server.url("/good.jpg"), "-o", "out", "--quiet").errors.isEmpty)
        let failed = place.run("get", server.url("/none"), "-o", "out", "--quiet")
        #expect(failed.errors.contains("http_404"))
        #expect(!failed.errors.contains("requests sent"))
    }

    @Test("--verbose prints the steps of each URL")
    func verbose() {
        server.serve("/moved", .redirect(to: "/good.jpg"))
        let result = place.run("get", server.url("/moved"), server.url("/none"), "-o", "out", "--verbose")
        for part in ["requested", "redirected to", "200", "60 × 40", "stored as out/moved.jpg", "404"] {
            #expect(result.errors.contains(part), "\(part) in \(result.errors)")
        }
    }

    @Test("The progress line is not printed if standard error is not a terminal")
    func noTerminal() {
        let result = place.run("get", server.url("/good.jpg"), "-o", "out")
        #expect(!result.errors.contains("\r") && !result.errors.contains("\u{1B}"))
        #expect(result.errors.contains("Done: 1 image"))
    }
}

/// Types on a separate thread, because a full pipe blocks the writer.
private final class JoinableWriter {
    private let finished = DispatchSemaphore(value: 0)

    init(_ command: RunningCommand, _ text: String) {
        // The command outlives the thread, which is joined first.
        nonisolated(unsafe) let command = command
        let finished = finished
        WorkerThreads(count: 1, name: "typing").run {
            unsafe command.type(text)
            finished.signal()
        }
    }

    func join() { finished.wait() }
}
