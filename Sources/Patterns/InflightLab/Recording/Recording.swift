/// The observations of one run: spans and marks, with their times, threads and order.
///
/// A value, made by a ``Recorder``. Drawings and findings are derived from it alone.
package struct Recording: Equatable, Sendable {
    package enum Kind: String, Equatable, Sendable {
        /// The thread runs.
        case work
        /// The thread is blocked until something else happens.
        case wait
        /// The work is in flight, and takes no thread of the caller.
        case away
    }

    package struct Span: Equatable, Sendable {
        /// The index in ``Recording/tracks``.
        package var track: Int
        package var label: String
        package var kind: Kind
        /// Nanoseconds since the first record.
        package var start: Int64
        /// `nil` if it had not ended when the recording did.
        package var end: Int64?
        /// Threads are numbered from 1, in the order in which they appear.
        package var thread: Int
        /// The thread's nice value at the start, which implements quality of service on Linux.
        package var nice: Int
        /// The positions of its start and its end in the order of all records.
        package var startOrder: Int
        package var endOrder: Int?
    }

    package struct Mark: Equatable, Sendable {
        package var track: Int
        package var label: String
        /// Whether this should not have happened.
        package var isTrouble: Bool
        package var time: Int64
        package var thread: Int
        package var order: Int
    }

    package var tracks: [String] = []
    package var spans: [Span] = []
    package var marks: [Mark] = []
    /// The counted values, by name.
    package var values: [String: Int] = [:]
    /// The time of the last record.
    package var duration: Int64 = 0

    package init() {}

    /// - Parameter tracks: The initial tracks, in the order of the drawing.
    package init(tracks: [String] = [], events: some Sequence<RecordedEvent>) {
        self.tracks = tracks
        var numbers: [Int: Int] = [:]
        var open: [Int: Int] = [:]
        var begin: Int64?
        for (order, event) in events.enumerated() {
            let origin = begin ?? event.time
            begin = origin
            let time = max(0, event.time - origin)
            duration = max(duration, time)
            switch event.what {
            case .began(let id, let track, let label, let kind, let thread, let nice):
                open[id] = spans.count
                spans.append(
                    Span(
                        track: index(of: track), label: label, kind: kind, start: time, end: nil,
                        thread: Self.number(thread, &numbers), nice: nice, startOrder: order, endOrder: nil))
            case .ended(let id):
                guard let index = open.removeValue(forKey: id) else { continue }
                spans[index].end = time
                spans[index].endOrder = order
            case .marked(let track, let label, let isTrouble, let thread):
                marks.append(
                    Mark(
                        track: index(of: track), label: label, isTrouble: isTrouble, time: time,
                        thread: Self.number(thread, &numbers), order: order))
            case .counted(let name, let value):
                values[name] = value
            }
        }
    }

    private mutating func index(of track: String) -> Int {
        if let index = tracks.firstIndex(of: track) { return index }
        tracks.append(track)
        return tracks.count - 1
    }

    private static func number(_ thread: Int, _ numbers: inout [Int: Int]) -> Int {
        if let number = numbers[thread] { return number }
        numbers[thread] = numbers.count + 1
        return numbers.count
    }
}

// MARK: Questions

extension Recording.Span {
    /// Returns whether both were open at some moment: by order, not by the clock.
    package func overlaps(_ other: Self) -> Bool {
        startOrder < other.endOrder ?? .max && other.startOrder < endOrder ?? .max
    }

    /// Returns whether it had ended when `other` began.
    package func precedes(_ other: Self) -> Bool {
        (endOrder ?? .max) < other.startOrder
    }

    package func contains(_ order: Int) -> Bool {
        startOrder < order && order < endOrder ?? .max
    }

    package func duration(until end: Int64) -> Int64 { (self.end ?? end) - start }
}

extension Recording {
    package func spans(on track: String) -> [Span] {
        guard let index = tracks.firstIndex(of: track) else { return [] }
        return spans.filter { $0.track == index }
    }

    package func marks(on track: String) -> [Mark] {
        guard let index = tracks.firstIndex(of: track) else { return [] }
        return marks.filter { $0.track == index }
    }

    package func span(_ label: String) -> Span? { spans.first { $0.label == label } }

    package func mark(_ label: String) -> Mark? { marks.first { $0.label == label } }

    /// Returns the maximum number of spans that were open at one moment.
    package func peakConcurrency(_ spans: [Span]) -> Int {
        spans.map { span in spans.count { $0.contains(span.startOrder) } + 1 }.max() ?? 0
    }

    /// Returns the number of threads that ran the spans.
    package func threads(_ spans: [Span]) -> Int { Set(spans.filter { $0.kind != .away }.map(\.thread)).count }
}
