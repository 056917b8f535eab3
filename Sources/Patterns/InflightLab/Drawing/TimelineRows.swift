/// The layout that text and SVG drawings share: the spans of one row, and the numbers of the axis.
enum TimelineRows {
    /// Returns the spans of a track in as few rows as possible. Those of one row never overlap, by record order.
    static func rows(_ spans: [Recording.Span]) -> [[Recording.Span]] {
        var rows: [[Recording.Span]] = []
        for span in spans.sorted(by: { $0.startOrder < $1.startOrder }) {
            if let free = rows.firstIndex(where: { $0.last.map { $0.precedes(span) } ?? true }) {
                rows[free].append(span)
            } else {
                rows.append([span])
            }
        }
        return rows
    }

    /// Returns the threads of a row, such as `t1` or `t2,3…`.
    static func threads(_ spans: [Recording.Span], most: Int) -> String {
        let numbers = Set(spans.filter { $0.kind != .away }.map(\.thread)).sorted()
        return numbers.isEmpty
            ? ""
            : "t" + numbers.prefix(most).map(String.init).joined(separator: ",") + (numbers.count > most ? "…" : "")
    }

    /// Returns the label that many marks share, to be shown once instead of beside each.
    static func commonLabel(_ marks: [Recording.Mark]) -> String? {
        guard marks.count > 3, let label = marks.first?.label, marks.allSatisfy({ $0.label == label }) else {
            return nil
        }
        return label
    }

    struct Tick: Equatable {
        /// The time in nanoseconds.
        var time: Int64
        var text: String
    }

    /// Returns round numbers of milliseconds from 0 to `duration`, `most` of them or a few more.
    static func ticks(_ duration: Int64, most: Int) -> [Tick] {
        let milliseconds = Double(max(duration, 1)) / 1_000_000
        var step = 0.001
        let factors = [2, 2.5, 2]
        var turn = 0
        while milliseconds / step > Double(max(1, most - 1)) {
            step *= factors[turn % 3]
            turn += 1
        }
        // A single number says little about the length.
        if turn > 0, milliseconds / step < 2 { step /= factors[(turn - 1) % 3] }
        let count = Int(milliseconds / step)
        return (0...count).map { number in
            let value = Double(number) * step
            let text = step < 1 && number > 0 ? decimal(value, step) : "\(Int(value.rounded()))"
            return Tick(time: Int64(value * 1_000_000), text: text)
        }
    }

    private static func decimal(_ value: Double, _ step: Double) -> String {
        let digits = step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3
        let scale = [1: 10, 2: 100, 3: 1000][digits] ?? 1
        let scaled = Int((value * Double(scale)).rounded())
        let rest = String(scaled % scale)
        return "\(scaled / scale)." + String(repeating: "0", count: digits - rest.count) + rest
    }
}
