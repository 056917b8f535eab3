/// One event of the format that Perfetto and `chrome://tracing` read: "Trace Event Format", JSON Object Format. Times
/// are microseconds.
struct TraceEvent: Equatable, Sendable {
    enum Phase: String, Sendable {
        /// A slice with a duration.
        case complete = "X"
        case instant = "i"
        case counter = "C"
        /// The start of an arrow, in the slice that contains its time.
        case flowStart = "s"
        /// The end of an arrow, in the slice that contains its time.
        case flowEnd = "f"
        case metadata = "M"
    }

    enum Argument: Equatable, Sendable {
        case text(String)
        case number(Int)
    }

    var phase: Phase
    var name: String
    var category = ""
    var process: Int
    /// The thread; 0 is the process's own. Viewers identify threads by number alone, so all other numbers are unique.
    var thread = 0
    var time = 0
    /// The duration of a slice.
    var duration: Int?
    /// The ID of a flow.
    var id: Int?
    var arguments: [(name: String, value: Argument)] = []

    static func == (left: TraceEvent, right: TraceEvent) -> Bool { left.json == right.json }

    /// The event as a JSON object.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.add("ph", phase.rawValue)
        writer.add("name", name)
        if !category.isEmpty { writer.add("cat", category) }
        writer.add("pid", process)
        writer.add("tid", thread == 0 ? process : thread)
        writer.add("ts", time)
        if let duration { writer.add("dur", duration) }
        if let id { writer.add("id", id) }
        switch phase {
        case .instant: writer.add("s", "t")
        // Binds the arrow to the enclosing slice, not to the next one.
        case .flowEnd: writer.add("bp", "e")
        default: break
        }
        if !arguments.isEmpty {
            writer.add("args") { inner in
                for (name, value) in arguments {
                    switch value {
                    case .text(let text): inner.add(name, text)
                    case .number(let number): inner.add(name, number)
                    }
                }
            }
        }
        return writer.object
    }
}
