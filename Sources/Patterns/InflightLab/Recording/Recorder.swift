internal import CInflightLab
internal import Glibc
package import InflightConcurrency

/// Records events while they happen.
///
/// - Thread: Any. The time is taken together with the record's position in the order, so that both agree.
/// - Cost: Under a microsecond each, far less than the recorded work.
package final class Recorder: Sendable {
    private struct State {
        var events: [RecordedEvent] = []
        var spans = 0
    }

    private let tracks: [String]
    private let clock: any EngineClock
    private let tell: (@Sendable (RecordedEvent) -> Void)?
    private let state = Guarded(State())

    /// - Parameters:
    ///   - tracks: In the order of the drawing; others are added when something is recorded on them.
    ///   - tell: Called with each record at once, in order, so that a child process reports all records before a crash.
    package init(
        tracks: [String] = [], clock: any EngineClock = SystemClock(),
        tell: (@Sendable (RecordedEvent) -> Void)? = nil
    ) {
        self.tracks = tracks
        self.clock = clock
        self.tell = tell
    }

    /// A span that begins here, and may end on another thread.
    package final class OpenSpan: Sendable {
        private let id: Int
        private let recorder: Recorder

        fileprivate init(_ id: Int, _ recorder: Recorder) {
            self.id = id
            self.recorder = recorder
        }

        /// Ends the span. Only the first call counts.
        package func end() { recorder.add(.ended(id: id)) }
    }

    package func begin(_ track: String, _ label: String, _ kind: Recording.Kind = .work) -> OpenSpan {
        let id = state.withLock { state in
            state.spans += 1
            return state.spans
        }
        add(
            .began(
                id: id, track: track, label: label, kind: kind, thread: lab_thread_number(), nice: Self.currentNice))
        return OpenSpan(id, self)
    }

    package func span<Output, Failure: Error>(
        _ track: String, _ label: String, _ kind: Recording.Kind = .work, _ body: () throws(Failure) -> Output
    ) throws(Failure) -> Output {
        let span = begin(track, label, kind)
        defer { span.end() }
        return try body()
    }

    package func mark(_ track: String, _ label: String, isTrouble: Bool = false) {
        add(.marked(track: track, label: label, isTrouble: isTrouble, thread: lab_thread_number()))
    }

    package func count(_ name: String, _ value: Int) {
        add(.counted(name: name, value: value))
    }

    package var recording: Recording {
        Recording(tracks: tracks, events: state.withLock { $0.events })
    }

    private func add(_ what: RecordedEvent.What) {
        state.withLock { state in
            let event = RecordedEvent(time: clock.now().nanoseconds, what: what)
            state.events.append(event)
            tell?(event)
        }
    }

    /// The nice value of the calling thread: on Linux each has its own.
    private static var currentNice: Int {
        Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
    }
}
