import FoundationEssentials
import Glibc
import InflightConcurrency
import InflightLab
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Experiments in child processes, which may crash, hang or corrupt their memory.
///
/// Disabled under a sanitizer, which would find the deliberate races, as `make lab-tsan` shows.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !Sanitizer.isOn, "these experiments race on purpose"))
struct LabChildTests {
    private let launcher = ChildLauncher(executable: RunningCommand.binary)

    /// Performs an experiment on a separate thread, because experiments block.
    private func perform(_ name: String) async throws -> [Scene] {
        let experiment = try #require(Experiment.named(name))
        let stage = Stage(unit: .milliseconds(1), timeout: .seconds(60), children: launcher)
        return try await onThread { () throws(LabError) in try experiment.perform(stage) }
    }

    private func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(LabError) -> Value
    ) async throws -> Value {
        let bridge = ValueBridge<Result<Value, LabError>>()
        let threads = WorkerThreads(count: 1, name: "test")
        threads.run { bridge.open(with: Result { () throws(LabError) in try body() }) }
        return try await bridge.value().get()
    }

    @Test("race: The child ends by itself and never counts more than was added")
    func race() async throws {
        let scene = try #require(try await perform("race").first)
        let counted = try #require(scene.recording.values["counted"])
        #expect((1...1_000_000).contains(counted))
        #expect(scene.recording.tracks.sorted() == ["first thread", "second thread"])
        #expect(!scene.findings.isEmpty)
    }

    @Test("string: Configurations with one write at a time match, and the guarded string loses nothing")
    func string() async throws {
        let scene = try #require(try await perform("string").first)
        let table = try #require(scene.table)
        #expect(table.rows.count == 10)
        for row in table.rows {
            if row[1] == "yes" { #expect(row[4] == "match", "\(row)") }
            #expect(row[4].hasPrefix("match") || row[4].hasPrefix("no match"))
        }
        #expect(!scene.hasFailed)
    }

    @Test("guards: The four guards lose nothing, and the unguarded string has a result in any case")
    func guards() async throws {
        let scene = try #require(try await perform("guards").first)
        let rows = try #require(scene.table).rows
        #expect(rows.map { $0[0] }.dropLast() == ["serial queue, sync", "concurrent queue, barrier", "lock", "actor"])
        #expect(rows.dropLast().allSatisfy { $0[2] == "0" } && !scene.hasFailed)
        #expect(rows.last?[2].isEmpty == false)
    }

    @Test("deadlock: libdispatch stops main.sync from the main queue at the call")
    func mainSync() async throws {
        let launcher = launcher
        let outcome = try await onThread { () throws(LabError) in try launcher.run("main-sync", timeout: .seconds(60))
        }
        #expect([.crashed(signal: Int(SIGILL)), .crashed(signal: Int(SIGTRAP))].contains(outcome.ending))
        let recording = Recording(events: outcome.events)
        #expect(recording.span("main.sync")?.endOrder == nil && recording.span("main.sync") != nil)
        #expect(recording.mark("never reached") == nil)
    }

    @Test("deadlock: A child that hangs is ended when its time is over")
    func mainWait() async throws {
        let launcher = launcher
        let outcome = try await onThread { () throws(LabError) in
            try launcher.run("main-wait", timeout: .milliseconds(200))
        }
        #expect(outcome.ending == .timedOut)
        // The end of the wait would have been recorded. Work on the other queue may be recorded before the wait.
        #expect(Recording(events: outcome.events).span("semaphore.wait")?.endOrder == nil)
        #expect(outcome.errors.isEmpty)
    }

    @Test("inversion: The high-priority task gets the lock only after the low-priority task releases it")
    func inversion() async throws {
        let launcher = launcher
        let outcome = try await onThread { () throws(LabError) in try launcher.run("inversion", timeout: .seconds(60))
        }
        #expect(outcome.ending == .exited(status: 0))
        let recording = Recording(events: outcome.events)
        let hold = try #require(recording.span("holds the lock"))
        let wait = try #require(recording.span("waits for lock"))
        #expect(hold.contains(wait.startOrder))
        #expect(hold.precedes(try #require(recording.span("has the lock"))))
    }

    @Test("inversion-three: The scene is complete whether or not the high task gets the lock")
    func inversionOfThree() async throws {
        let scene = try #require(try await perform("inversion-three").first)
        #expect(scene.recording.tracks == ["high: interactive", "medium: default", "low: background"])
        #expect(!scene.findings.isEmpty)
    }

    @Test("An unknown child part exits with 64, and a missing executable throws an error")
    func unknownParts() async throws {
        let launcher = launcher
        let outcome = try await onThread { () throws(LabError) in try launcher.run("nothing", timeout: .seconds(60)) }
        #expect(outcome.ending == .exited(status: 64) && outcome.events.isEmpty)
        let missing = ChildLauncher(executable: "/nonexistent/inflight")
        await #expect(throws: LabError.self) {
            try await onThread { () throws(LabError) in try missing.run("race", timeout: .seconds(60)) }
        }
    }
}

/// `inflight lab` as a command.
@Suite(.timeLimit(.minutes(10)))
struct LabCommandTests {
    private let place = TemporaryDirectory()

    @Test("lab draws the named experiments within COLUMNS, and without colours into a pipe")
    func drawing() throws {
        let result = place.run("lab", "serial", "inactive", environment: ["COLUMNS": "60"])
        #expect(result.status == 0)
        #expect(result.text.contains("serial: A private serial queue") && result.text.contains("┣"))
        #expect(!result.text.contains("\u{1B}"))
        for line in result.text.split(separator: "\n") { #expect(TerminalText.width(line) <= 60, "\(line)") }
        #expect(result.errors.isEmpty)
    }

    @Test("operations: Waiting operations each take a thread, and all of them end")
    func operations() throws {
        struct Line: Decodable {
            struct Scene: Decodable {
                struct Span: Decodable {
                    var startOrder, endOrder, thread: Int
                }
                var ok: Bool
                var spans: [Span]
            }
            var scenes: [Scene]
        }
        let result = place.run("lab", "operations", "--json")
        #expect(result.status == 0)
        let line = try JSONDecoder().decode(Line.self, from: Data(result.output))
        try #require(line.scenes.count == 2)
        for scene in line.scenes { #expect(scene.ok && scene.spans.count == 6) }
        let waiting = line.scenes[0].spans
        for left in waiting {
            // Two operations on one thread could not both be blocked at once.
            let beside = waiting.filter { $0.startOrder > left.startOrder && $0.startOrder < left.endOrder }
            #expect(beside.allSatisfy { $0.thread != left.thread })
        }
    }

    @Test("lab --svg writes one complete file, or nothing if the path cannot be written")
    func svg() {
        #expect(place.run("lab", "inactive", "--svg", "out.svg").status == 0)
        let drawn = String(decoding: place.read("out.svg") ?? [], as: UTF8.self)
        #expect(drawn.hasPrefix("<svg ") && drawn.hasSuffix("</svg>\n"))
        for (path, part) in [("none/out.svg", "No such file"), (".", "Is a directory"), ("/dev/null", "Invalid")] {
            let result = place.run("lab", "inactive", "--svg", path)
            #expect(result.status == 1 && result.errors.contains(part) && result.output.isEmpty, "\(result.errors)")
        }
        #expect(place.names == ["out.svg"])
    }

    @Test("lab --list prints all experiments, and an unknown name is a usage error")
    func list() {
        let result = place.run("lab", "--list")
        #expect(result.status == 0)
        #expect(
            result.text.split(separator: "\n").map { String($0.prefix { $0 != " " }) } == Experiment.all.map(\.name))
        let unknown = place.run("lab", "deadlok")
        #expect(unknown.status == 64 && unknown.errors.contains("Did you mean deadlock?"))
    }

    @Test(
        "SIGINT and SIGTERM end lab and its children, and leave no partial drawing", arguments: [SIGINT, SIGTERM])
    func signals(_ signal: Int32) throws {
        // The child inherits descriptor 9, so the reader sees the end only after both processes have ended.
        #expect(unsafe mkfifo(place.appending("alive"), 0o600) == 0)
        let alive = unsafe open(place.appending("alive"), O_RDWR | O_CLOEXEC)
        let command = RunningCommand(
            ["lab", "inversion-three", "--svg", "out.svg"], in: place, pipesOutput: true, prefix: "exec 9>alive")
        // The heading is printed before the child starts.
        while !command.readLine().hasPrefix("On Linux:") {}
        let reading = unsafe open(place.appending("alive"), O_RDONLY | O_CLOEXEC)
        close(alive)
        command.signal(signal)
        #expect(command.wait().status == 128 + signal)
        var byte: UInt8 = 0
        #expect(unsafe read(reading, &byte, 1) == 0)
        close(reading)
        #expect(place.names == ["alive"])
    }
}
