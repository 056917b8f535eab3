import InflightConcurrency

/// The line that shows the progress of a run.
struct ProgressLine {
    struct State {
        var done = 0
        var failed = 0
        /// The number of URLs requested so far.
        var requested = 0
        /// Whether more URLs may be requested.
        var isOpen = false
        var bytes: Int64 = 0
        var elapsed: Duration = .zero
    }

    private var lastBytes: Int64 = 0
    private var lastTime: Duration = .zero
    private var rate: Double?

    /// Returns the current line, in at most `columns`. The rate is that of the last second or two.
    mutating func text(_ state: State, columns: Int) -> String {
        updateRate(state)
        let total = state.isOpen ? "\(Quantity.grouped(state.requested))+" : Quantity.grouped(state.requested)
        var parts = ["\(Quantity.grouped(state.done)) of \(total)"]
        if state.failed > 0 { parts.append("\(Quantity.grouped(state.failed)) failed") }
        parts.append(Quantity.bytes(state.bytes))
        if let rate, rate >= 1 { parts.append("\(Quantity.bytes(Int64(rate)))/s") }
        if let left = timeLeft(state) { parts.append("\(Quantity.time(left)) left") }

        // Parts that do not fit are left out from the end. The bar takes up to 24 of the remaining columns.
        while parts.count > 1, parts.joined(separator: "  ").count > columns { parts.removeLast() }
        let text = parts.joined(separator: "  ")
        let room = min(24, columns - text.count - 3)
        guard !state.isOpen, state.requested > 0, room >= 8 else { return TerminalText.prefix(text, columns: columns) }
        let filled = room * min(state.done, state.requested) / state.requested
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: room - filled)
        return "[\(bar)] \(text)"
    }

    private mutating func updateRate(_ state: State) {
        let seconds = Self.seconds(state.elapsed - lastTime)
        guard seconds >= 0.05 else { return }
        let present = Double(max(0, state.bytes - lastBytes)) / seconds
        // An exponential average: the weight of a measurement decreases with its age.
        let weight = min(1, seconds)
        rate = rate.map { $0 + (present - $0) * weight } ?? present
        lastBytes = state.bytes
        lastTime = state.elapsed
    }

    private func timeLeft(_ state: State) -> Duration? {
        guard !state.isOpen, state.done > 0, state.done < state.requested else { return nil }
        let elapsed = Self.seconds(state.elapsed)
        guard elapsed > 0.5 else { return nil }
        let left = elapsed / Double(state.done) * Double(state.requested - state.done)
        return .seconds(max(1, left.rounded()))
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.saturatedNanoseconds) / 1e9
    }
}
