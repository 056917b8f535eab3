import InflightLab
import Testing

/// Guarantees of the queues, checked in recordings of the experiments: order and overlap, not durations.
@Suite(.timeLimit(.minutes(10)))
struct QueueExperimentTests {
    @Test("qos: Each of five queues runs both of its computations, on threads of one nice value")
    func qualities() async throws {
        let recording = try #require(try await perform("qos").first).recording
        for track in recording.tracks.dropFirst() {
            let spans = recording.spans(on: track)
            #expect(Set(spans.map(\.label)) == ["1", "2"])
            #expect(spans.allSatisfy { $0.end != nil })
            #expect(Set(spans.map(\.nice)).count == 1, "\(track)")
        }
        #expect(recording.tracks.count == 6)
    }

    @Test("sync-async: sync runs inside the call and on its thread; async runs in order, one at a time")
    func syncAndAsync() async throws {
        let scenes = try await perform("sync-async")
        let sync = try #require(scenes.first).recording
        for number in 1...3 {
            let (call, work) = (try #require(sync.span("sync \(number)")), try #require(sync.span("\(number)")))
            #expect(call.contains(work.startOrder))
            #expect(call.contains(try #require(work.endOrder)))
            #expect(call.thread == work.thread)
        }
        let async = try #require(scenes.last).recording
        let work = async.spans(on: "queue")
        #expect(work.map(\.label) == ["1", "2", "3"] && async.peakConcurrency(work) == 1)
        for span in work {
            #expect(try #require(async.span("async \(span.label)")).startOrder < span.startOrder)
            #expect(span.thread != async.spans(on: "caller")[0].thread)
        }
    }

    @Test("serial: Work runs in order of submission, one item at a time")
    func serial() async throws {
        let scene = try #require(try await perform("serial").first)
        let spans = scene.recording.spans(on: "serial queue")
        #expect(spans.map(\.label) == ["a1", "b1", "a2", "b2", "a3", "b3"])
        #expect(scene.recording.peakConcurrency(spans) == 1)
        for span in spans {
            #expect(try #require(scene.recording.mark(span.label)).order < span.startOrder)
        }
        #expect(!scene.hasFailed)
    }

    @Test("priorities: Each serial queue keeps its order, and nothing runs before its deadline")
    func priorities() async throws {
        let scenes = try await perform("priorities")
        let queues = try #require(scenes.first).recording
        for track in queues.tracks {
            let spans = queues.spans(on: track)
            #expect(spans.map(\.label) == ["1", "2", "3", "4"] && queues.peakConcurrency(spans) == 1)
        }
        let later = try #require(scenes.last).recording
        let spans = later.spans(on: "serial queue")
        #expect(Set(spans.map(\.label)) == ["0", "1", "3", "5"] && later.peakConcurrency(spans) == 1)
        for span in spans {
            let deadline = try #require(Int64(span.label)) * 1_000_000
            #expect(span.start >= deadline)
        }
    }

    @Test("concurrent: Readers run together, and a barrier runs alone between earlier and later ones")
    func concurrent() async throws {
        let scenes = try await perform("concurrent")
        let recording = try #require(scenes.first).recording
        let (readers, writer) = (recording.spans(on: "readers"), try #require(recording.span("writes")))
        for reader in readers {
            #expect(["1", "2"].contains(reader.label) ? reader.precedes(writer) : writer.precedes(reader))
        }
        #expect(readers.count == 4 && recording.peakConcurrency(readers) == 2)
        let sleepers = try #require(scenes.last).recording.spans
        #expect(Set(sleepers.map(\.label)).count == 8 && sleepers.allSatisfy { $0.end != nil })
    }

    @Test("inactive: Nothing runs before activate, and a serial target makes a concurrent queue serial")
    func inactive() async throws {
        let scenes = try await perform("inactive")
        for scene in scenes {
            let activation = try #require(scene.recording.mark("activate"))
            let spans = scene.recording.spans(on: "queue")
            #expect(spans.count == 3 && spans.allSatisfy { $0.startOrder > activation.order })
            #expect(!scene.hasFailed)
        }
        let serial = try #require(scenes.last).recording
        #expect(serial.spans(on: "queue").map(\.label) == ["1", "2", "3"])
        #expect(serial.peakConcurrency(serial.spans(on: "queue")) == 1)
    }

    @Test("work-items: cancel stops pending items only, notify runs after, and an item runs on two queues")
    func workItems() async throws {
        let scenes = try await perform("work-items")
        try #require(scenes.count == 4)
        #expect(scenes[0].recording.spans.map(\.label) == ["plain", "enforced"])
        let cancelled = scenes[1].recording
        #expect(cancelled.spans.map(\.label) == ["first"])
        let first = try #require(cancelled.span("first"))
        #expect(first.contains(try #require(cancelled.mark("cancel first")).order))
        #expect(first.contains(try #require(cancelled.mark("isCancelled: true")).order))
        let notified = scenes[2].recording
        #expect(try #require(notified.span("item")).precedes(try #require(notified.span("notify"))))
        #expect(["queue 1", "queue 2"].allSatisfy { scenes[3].recording.spans(on: $0).count == 1 })
    }
}
