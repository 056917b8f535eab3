internal import InflightConcurrency
internal import InflightCore

/// A small language for subscribing, leaving and priority over time. It has one row for each URL and each caller, and
/// one column for each moment.
///
/// ```swift
/// let seen = try Timeline.play(
///     """
///     u answers  ab--c|
///     anna u     2--x
///     bert u     --2
///     """)
/// #expect(seen == """
///     u     2ab--c|
///     anna  -ab
///     bert  --b--c|
///     """)
/// ```
///
/// Input: a URL `answers` with letters, each a byte that arrives in that moment after its start, `-` if nothing
/// arrives, and finally `|` for success or `!` for a failure. A caller row has a name, a URL, and actions: a digit from
/// 0 to 4 requests with that priority, and later changes it; `x` cancels; `-` lets a moment pass.
///
/// Output: a row for each exchange that was started, named after its URL (`u'` is the second). It has `.` while the
/// fetch is queued without a slot, the digit of the priority with which it starts, its letters, the digit of a new
/// priority in a moment without a letter, `x` if it is cancelled (its work stops a moment later), `|` or `!`. A row for
/// each caller follows, with the letter of the last byte that its progress reports, `|` or `!`. Rows end after their
/// last event.
///
/// In each moment callers act first, in the order of their rows, then each exchange makes its step, then callbacks run.
public enum Timeline {
    /// The error for a malformed row.
    public struct Mistake: Error, CustomStringConvertible {
        /// The malformed row, or the part of it that means nothing, and why.
        public let description: String
    }

    /// Plays a script on its own pipeline, and draws the events that were seen. Blocks the calling thread until the
    /// end.
    ///
    /// - Parameters:
    ///   - script: the rows of input, one per line.
    ///   - fetches: the maximum number of concurrent fetches.
    /// - Returns: the rows of output, one per line.
    /// - Throws: ``Mistake`` if a row is malformed, or if a caller's URL has no row.
    public static func play(_ script: String, fetches: Int = 4) throws(Mistake) -> String {
        let rows = try Row.parse(script)
        let stage = TimelineStage(rows, fetches: fetches)
        defer { stage.end() }
        let length = rows.map(\.moments.count).max() ?? 0
        // If a load never ends, this bound ends the drawing. It covers all rows one after the other, each as long as
        // the longest.
        for moment in 0..<(length * (rows.count + 1)) where moment < length || stage.isBusy { stage.play(moment) }
        return stage.drawing
    }

    struct Row {
        var name: String
        /// The URL that a caller requests; nil for a URL's response.
        var wanted: String?
        var moments: [Character]

        static func parse(_ script: String) throws(Mistake) -> [Row] {
            var rows: [Row] = []
            for line in script.split(separator: "\n") {
                let words = line.split(separator: " ").map(String.init)
                guard words.count == 3 else {
                    throw Mistake(description: "“\(line)” is not a name, what it wants or “answers”, and moments")
                }
                let isAnswer = words[1] == "answers"
                let row = Row(name: words[0], wanted: isAnswer ? nil : words[1], moments: Array(words[2]))
                let unknown = row.moments.first {
                    isAnswer ? !($0.isLetter || "-|!".contains($0)) : !"01234x-".contains($0)
                }
                if let unknown { throw Mistake(description: "“\(unknown)” means nothing in the row of \(row.name)") }
                rows.append(row)
            }
            for row in rows {
                guard let wanted = row.wanted, !rows.contains(where: { $0.name == wanted && $0.wanted == nil }) else {
                    continue
                }
                throw Mistake(description: "\(row.name) wants \(wanted), which has no row of answers")
            }
            return rows
        }
    }
}
