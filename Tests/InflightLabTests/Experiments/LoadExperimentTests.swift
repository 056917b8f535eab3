import InflightTestSupport
import Testing

@testable import InflightLab

/// Experiments with loads, over real sockets.
@Suite(.timeLimit(.minutes(10)))
struct LoadExperimentTests {
    @Test("heartbeat: Beats stop while the main queue reads the socket, and continue while the engine does")
    func heartbeat() async throws {
        let scenes = try await perform("heartbeat")
        try #require(scenes.count == 2)
        let beats = scenes.map { scene in
            let download = scene.recording.span("download")
            return scene.recording.marks(on: "main queue").count { download?.contains($0.order) == true }
        }
        #expect(beats[0] == 0)
        #expect(beats[1] >= 2)
        #expect(scenes.allSatisfy { !$0.hasFailed })
    }

    @Test("picture: All four ways show the image after its load, and only the first two block a thread")
    func picture() async throws {
        let scenes = try await perform("picture")
        try #require(scenes.count == 4)
        #expect(scenes.allSatisfy { !$0.hasFailed })
        for (number, scene) in scenes.enumerated() {
            let waits = scene.recording.spans.filter { $0.kind == .wait }
            #expect(waits.count == (number < 2 ? 1 : 0))
            let shown = try #require(scene.recording.span("displays"))
            let load = try #require(scene.recording.spans.first { ["download", "loads", "await"].contains($0.label) })
            #expect(load.precedes(shown))
        }
    }

    @Test("groups: A group completes after its work, unless it counts asynchronous work as synchronous")
    func groups() async throws {
        let scenes = try await perform("groups")
        try #require(scenes.count == 5)
        for (number, scene) in scenes.enumerated() where number > 0 {
            let told = try #require(scene.recording.mark("all done?")).order
            let ends = scene.recording.spans(on: "work").compactMap(\.endOrder)
            #expect(ends.count == 3)
            #expect(ends.allSatisfy { number == 2 ? $0 > told : $0 < told }, "\(scene.title)")
        }
    }

    @Test("operations: Six LoadOperations run at once and take no thread")
    func operations() async throws {
        let stage = Stage(unit: .milliseconds(1), timeout: .seconds(30))
        let outcome = await DedicatedThread.run { Result { () throws(LabError) in try Experiment.loading(stage) } }
        let scene = try outcome.get()
        #expect(!scene.hasFailed)
        #expect(scene.recording.peakConcurrency(scene.recording.spans) == 6)
        #expect(scene.recording.threads(scene.recording.spans) == 0)
    }

    @Test("cells: Wrong images appear without the check, but not with it or with ImageLoader")
    func cells() async throws {
        let scenes = try await perform("cells")
        try #require(scenes.count == 3)
        #expect(scenes.map { $0.recording.marks.count(where: \.isTrouble) } == [4, 0, 0])
        for scene in scenes {
            #expect(!scene.hasFailed)
            let right = (5...8).allSatisfy { row in
                scene.recording.marks(on: "cell \(row - 4)").contains { $0.label == "shows \(row)" }
            }
            #expect(right, "\(scene.title)")
        }
    }

    @Test("guards: No guard loses a letter", arguments: StringGuard.allCases)
    func guards(_ kind: StringGuard) async {
        #expect(await DedicatedThread.run { kind.write() } == StringGuard.all)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct CatalogTests {
    @Test("Every experiment has a unique name that can be typed, and complete texts")
    func catalog() {
        let all = Experiment.all
        #expect(Set(all.map(\.name)).count == all.count)
        for experiment in all {
            #expect(experiment.name.allSatisfy { $0.isLowercase || $0 == "-" })
            #expect(!experiment.title.isEmpty && !experiment.lookAt.isEmpty && !experiment.platform.isEmpty)
            #expect(Experiment.named(experiment.name)?.title == experiment.title)
        }
    }

    @Test("The recording of another process is appended after the existing one, as its own track")
    func appended() throws {
        func recording(_ label: String) -> Recording {
            Recording(events: [
                RecordedEvent(
                    time: 10, what: .began(id: 1, track: "x", label: label, kind: .work, thread: 5, nice: 0)),
                RecordedEvent(time: 30, what: .ended(id: 1)),
            ])
        }
        var all = Recording()
        all.append(recording("one"), as: "first")
        all.append(recording("two"), as: "second")
        let (one, two) = (try #require(all.span("one")), try #require(all.span("two")))
        #expect(one.precedes(two))
        #expect(all.tracks == ["first", "second"] && all.duration == 40)
        #expect((two.start, two.end) == (20, 40) && (one.thread, two.thread) == (1, 2))
        #expect((two.startOrder, two.endOrder) == (2, 3))
    }

    @Test("A thread sanitizer report is summarised in a sentence, and other output is ignored")
    func sanitizerReport() {
        let text = """
            WARNING: ThreadSanitizer: data race (pid=1)
              Write of size 8 at 0x7b by thread T2:
            SUMMARY: ThreadSanitizer: data race /somewhere/Lab/Race.swift:30:5 in $s3Lab
            """
        #expect(SanitizerReport(text)?.summary == "a data race at Race.swift:30:5.")
        #expect(SanitizerReport("WARNING: ThreadSanitizer: data race (pid=1)\n")?.summary == "a data race.")
        #expect(SanitizerReport("Segmentation fault\n") == nil)
    }
}
