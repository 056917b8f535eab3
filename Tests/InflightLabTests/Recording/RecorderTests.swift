import Dispatch
import InflightConcurrency
import InflightLab
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RecorderTests {
    @Test("With many threads, times agree with the record order, which the observer sees as well")
    func manyThreads() {
        let told = Guarded([RecordedEvent]())
        let recorder = Recorder { event in told.withLock { $0.append(event) } }
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            for round in 0..<100 { recorder.span("\(number)", "\(round)") { recorder.mark("\(number)", "m") } }
        }
        let recording = recorder.recording
        #expect(recording.spans.count == 800 && recording.marks.count == 800)
        for (left, right) in zip(recording.spans, recording.spans.dropFirst()) {
            #expect(left.startOrder < right.startOrder && left.start <= right.start)
        }
        for number in 0..<8 {
            let spans = recording.spans(on: "\(number)")
            #expect(spans.map(\.label) == (0..<100).map(String.init))
            #expect(recording.peakConcurrency(spans) == 1)
        }
        let events = told.withLock { $0 }
        #expect(Recording(events: events) == recording)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.time <= $1.time })
    }

    @Test("A span ends even if its work throws")
    func throwing() {
        struct Failure: Error {}
        let recorder = Recorder(tracks: ["a"])
        #expect(throws: Failure.self) { try recorder.span("a", "x") { () throws(Failure) in throw Failure() } }
        #expect(recorder.recording.span("x")?.end != nil)
    }

    @Test("A span may begin on one thread and end on another, and ends once")
    func otherThread() async {
        let recorder = Recorder()
        let span = recorder.begin("a", "x", .away)
        await Bridge.wait { done in
            DispatchQueue(label: "other").async {
                span.end()
                recorder.mark("a", "behind")
                span.end()
                done.open()
            }
        }
        let recording = recorder.recording
        #expect(recording.span("x")?.endOrder == 1)
        #expect(recording.mark("behind")?.thread == 2)
    }
}
