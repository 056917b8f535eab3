/// One record, as it is stored, and as a child process reports it to its parent.
package struct RecordedEvent: Equatable, Sendable {
    package enum What: Equatable, Sendable {
        case began(id: Int, track: String, label: String, kind: Recording.Kind, thread: Int, nice: Int)
        case ended(id: Int)
        case marked(track: String, label: String, isTrouble: Bool, thread: Int)
        case counted(name: String, value: Int)
    }

    /// Nanoseconds of the machine's monotonic clock, which all processes share.
    package var time: Int64
    package var what: What

    package init(time: Int64, what: What) {
        self.time = time
        self.what = what
    }
}

// MARK: Line format

extension RecordedEvent {
    /// The fields, separated by tabs, in one line.
    package var line: String {
        let fields: [String] =
            switch what {
            case .began(let id, let track, let label, let kind, let thread, let nice):
                ["began", "\(id)", track, label, kind.rawValue, "\(thread)", "\(nice)"]
            case .ended(let id): ["ended", "\(id)"]
            case .marked(let track, let label, let isTrouble, let thread):
                ["marked", track, label, isTrouble ? "trouble" : "plain", "\(thread)"]
            case .counted(let name, let value): ["counted", name, "\(value)"]
            }
        return (["\(time)"] + fields.map(Self.plain)).joined(separator: "\t") + "\n"
    }

    /// - Parameter line: Without its terminator. The result is `nil` for everything that ``line`` does not write, such
    ///   as half a line of a process that was killed.
    package init?(line: Substring) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count > 2, let time = Int64(fields[0]) else { return nil }
        self.time = time
        switch (fields[1], fields.count) {
        case ("began", 8):
            guard let id = Int(fields[2]), let kind = Recording.Kind(rawValue: fields[5]),
                let thread = Int(fields[6]), let nice = Int(fields[7])
            else { return nil }
            what = .began(id: id, track: fields[3], label: fields[4], kind: kind, thread: thread, nice: nice)
        case ("ended", 3):
            guard let id = Int(fields[2]) else { return nil }
            what = .ended(id: id)
        case ("marked", 6):
            guard let thread = Int(fields[5]) else { return nil }
            what = .marked(track: fields[2], label: fields[3], isTrouble: fields[4] == "trouble", thread: thread)
        case ("counted", 4):
            guard let value = Int(fields[3]) else { return nil }
            what = .counted(name: fields[2], value: value)
        default: return nil
        }
    }

    private static func plain(_ text: String) -> String {
        String(text.map { $0 == "\t" || $0.isNewline ? " " : $0 })
    }
}
