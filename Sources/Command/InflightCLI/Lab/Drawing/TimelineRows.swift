import InflightLab

/// What text and SVG drawings have in common: which spans stand in one row, and where the axis has its numbers.
enum TimelineRows {
    /// The spans of a track in as few rows as show them all: those of one row never overlap, by the order of the records.
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

    /// `t1`, `t2,3…`: the threads that a row takes.
    static func threads(_ spans: [Recording.Span], most: Int) -> String {
        let numbers = Set(spans.filter { $0.kind != .away }.map(\.thread)).sorted()
        return numbers.isEmpty
            ? ""
            : "t" + numbers.prefix(most).map(String.init).joined(separator: ",") + (numbers.count > most ? "…" : "")
    }

    /// What many marks of one kind are called: told once, instead of beside each.
    static func commonLabel(_ marks: [Recording.Mark]) -> String? {
        guard marks.count > 3, let label = marks.first?.label, marks.allSatisfy({ $0.label == label }) else {
            return nil
        }
        return label
    }

    struct Tick: Equatable {
        /// Nanoseconds.
        var time: Int64
        var text: String
    }

    /// Round numbers of milliseconds from 0 to `duration`, `most` of them or a few more.
    static func ticks(_ duration: Int64, most: Int) -> [Tick] {
        let milliseconds = Double(max(duration, 1)) / 1_000_000
        var step = 0.001
        let factors = [2, 2.5, 2]
        var turn = 0
        while milliseconds / step > Double(max(1, most - 1)) {
            step *= factors[turn % 3]
            turn += 1
        }
        // One number alone says little of the length.
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
