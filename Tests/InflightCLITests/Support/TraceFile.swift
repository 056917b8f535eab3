import FoundationEssentials

/// A trace as its format defines it ("Trace Event Format", JSON Object Format), and its validation.
struct TraceFile: Decodable {
    struct Event: Decodable {
        var ph: String
        var name: String?
        var cat: String?
        var pid: Int?
        var tid: Int?
        var ts: Double?
        var dur: Double?
        var id: Int?
        var s: String?
        var bp: String?
        var args: [String: Argument]?

        var track: String { "\(pid ?? -1)/\(tid ?? -1)" }
        var end: Double { (ts ?? 0) + (dur ?? 0) }
    }

    enum Argument: Decodable, Equatable {
        case text(String)
        case number(Double)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    var traceEvents: [Event]

    init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(TraceFile.self, from: Data(bytes))
    }

    func slices(_ category: String) -> [Event] {
        traceEvents.filter { $0.ph == "X" && $0.cat == category }
    }

    /// Descriptions of each violation of the format; empty for a valid trace.
    var problems: [String] {
        var problems: [String] = []
        var latest = 0.0
        for (number, event) in traceEvents.enumerated() {
            func miss(_ what: String) { problems.append("event \(number) (\(event.ph)): \(what)") }
            if event.pid == nil { miss("no pid") }
            if event.name == nil { miss("no name") }
            if event.ph != "M" {
                guard let time = event.ts else {
                    miss("no ts")
                    continue
                }
                if time < 0 { miss("before the beginning") }
                if time < latest { miss("earlier than the one before") }
                latest = max(latest, time)
            }
            switch event.ph {
            case "X":
                if event.tid == nil { miss("no tid") }
                if (event.dur ?? -1) <= 0 { miss("no dur") }
            case "i": if !["t", "p", "g"].contains(event.s ?? "") { miss("no scope") }
            case "C":
                let isNumbers = event.args.map { args in
                    !args.isEmpty && args.values.allSatisfy { if case .number = $0 { true } else { false } }
                }
                if isNumbers != true { miss("no numbers") }
            case "s", "f":
                if event.id == nil { miss("no id") }
                if event.cat == nil { miss("no cat") }
                if event.ph == "f", event.bp != "e" { miss("binds to the next slice") }
                // Viewers read in the order of the file, so the slice must come before.
                let holds = traceEvents[..<number].contains { slice in
                    slice.ph == "X" && slice.track == event.track && (slice.ts ?? 0) <= (event.ts ?? 0)
                        && (event.ts ?? 0) <= slice.end
                }
                if !holds { miss("no slice to bind to") }
            case "M":
                let known = ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
                if !known.contains(event.name ?? "") { miss("unknown metadata") }
                if event.args?["name"] == nil, event.args?["sort_index"] == nil { miss("says nothing") }
            default: miss("unknown phase")
            }
        }
        return problems + overlaps + unnamedTracks + brokenFlows + ambiguousThreads
    }

    /// Slices on one track must nest or be disjoint.
    private var overlaps: [String] {
        Dictionary(grouping: traceEvents.filter { $0.ph == "X" }, by: \.track).flatMap { track, slices -> [String] in
            var open: [Event] = []
            var problems: [String] = []
            for slice in slices {
                while let last = open.last, last.end <= slice.ts ?? 0 { open.removeLast() }
                if let last = open.last, slice.end > last.end {
                    problems.append("on \(track) \(slice.name ?? "") reaches out of \(last.name ?? "")")
                }
                open.append(slice)
            }
            return problems
        }
    }

    private var unnamedTracks: [String] {
        let named = Set(traceEvents.filter { $0.ph == "M" && $0.name == "thread_name" }.map(\.track))
        return Set(traceEvents.filter { ["X", "i", "s", "f"].contains($0.ph) }.map(\.track)).subtracting(named)
            .map { "track \($0) has no name" }
    }

    /// Threads that a viewer could not distinguish by their numbers alone.
    private var ambiguousThreads: [String] {
        let processes = Set(traceEvents.compactMap(\.pid))
        return Dictionary(grouping: traceEvents.filter { $0.tid != $0.pid }, by: { $0.tid ?? 0 })
            .compactMap { thread, events in
                if thread == 0 || processes.contains(thread) { return "thread \(thread) has a process's number" }
                return Set(events.map(\.pid)).count > 1 ? "thread \(thread) is of several processes" : nil
            }
    }

    private var brokenFlows: [String] {
        Dictionary(grouping: traceEvents.filter { $0.ph == "s" || $0.ph == "f" }, by: { $0.id ?? -1 })
            .compactMap { id, ends in
                let isWhole =
                    ends.count == 2 && ends[0].ph == "s" && ends[1].ph == "f" && (ends[0].ts ?? 0) <= (ends[1].ts ?? 0)
                return isWhole ? nil : "flow \(id) is not one start and then one end"
            }
    }
}
