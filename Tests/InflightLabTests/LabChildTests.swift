import Glibc
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightLab

/// Experiments in child processes, which may crash, hang or corrupt their memory.
///
/// Disabled under a sanitizer, which would find the deliberate races, as `make lab-tsan` shows.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !Sanitizer.isOn, "these experiments race on purpose"))
struct LabChildTests {
    private let launcher = ChildLauncher(executable: BuiltProgram.path("inflight-lab"))

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
        let missing = ChildLauncher(executable: "/nonexistent/inflight-lab")
        await #expect(throws: LabError.self) {
            try await onThread { () throws(LabError) in try missing.run("race", timeout: .seconds(60)) }
        }
    }
}
