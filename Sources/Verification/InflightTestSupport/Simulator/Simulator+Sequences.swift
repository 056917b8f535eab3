extension Simulator.Report {
    /// What each task and each loader of the schedule was asked and told, one line for each: its request, the calls of
    /// its handle, its callbacks. In the order in which they began; empty if events were not recorded.
    ///
    /// Everything in it is public: two engines can be compared by it.
    public var sequences: [String] {
        var subjects: [String] = []
        var events: [String: [Substring]] = [:]
        for line in lines {
            let words = line.drop { $0 == " " }.split(separator: " ", maxSplits: 2)
            // A task has no number before its caller has run.
            guard words.count == 3, words[0] == "task" || words[0] == "loader",
                let number = Int(words[1].prefix { $0 != "," }), number >= 0
            else { continue }
            let subject = "\(words[0]) \(number)"
            if events[subject] == nil { subjects.append(subject) }
            events[subject, default: []].append(words[2])
        }
        return subjects.map { "\($0): \(events[$0, default: []].joined(separator: "; "))" }
    }
}
