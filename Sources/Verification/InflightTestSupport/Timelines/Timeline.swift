internal import InflightConcurrency
internal import InflightCore

/// A small language for joining, leaving and priority over time: one row for each URL and each caller, one column for
/// each moment.
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
/// What goes in: a URL `answers` with letters, each a byte that comes in that moment after its start, `-` where nothing
/// comes, and at last `|` for a good end or `!` for a failure. A caller is named, then what it wants, then what it does:
/// a digit from 0 to 4 asks with that priority, and later changes it; `x` cancels; `-` lets a moment pass.
///
/// What comes out: a row for each exchange that was started, named after its URL (`u'` is the second): `.` while
/// somebody waits for it and there is no place, the digit of the priority with which it starts, its letters, the digit
/// of a priority to which it changes in a moment without a letter, `x` where it is cancelled (its work stops a moment
/// later), `|` or `!`. And a row for each caller: the letter of the last byte that it hears of, `|` or `!`. Rows end where
/// nothing more happens.
///
/// In each moment callers act first, in the order of their rows, then each exchange makes its step, then callbacks run.
public enum Timeline {
    /// A row that says nothing.
    public struct Mistake: Error, CustomStringConvertible {
        public let description: String
    }

    /// Plays a script on a pipeline of its own, and draws what was seen.
    ///
    /// - Parameter fetches: how many may run at once.
    public static func play(_ script: String, fetches: Int = 4) throws(Mistake) -> String {
        let rows = try Row.parse(script)
        let stage = TimelineStage(rows, fetches: fetches)
        defer { stage.end() }
        let length = rows.map(\.moments.count).max() ?? 0
        // Whoever waits for what never comes is drawn as far as the longest row could need.
        for moment in 0..<(length * (rows.count + 1)) where moment < length || stage.isBusy { stage.play(moment) }
        return stage.drawing
    }

    struct Row {
        var name: String
        /// What a caller wants; `nil` for a URL's answer.
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
