/// Numbers in sentences and tables.
enum Phrase {
    static func threads(_ count: Int) -> String { counted(count, "thread") }

    static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// `39.8 %`.
    static func percent(_ part: Int, of whole: Int) -> String {
        let tenths = whole > 0 ? (part * 1000 + whole / 2) / whole : 0
        return "\(tenths / 10).\(tenths % 10) %"
    }
}

/// Times in sentences and tables.
enum Milliseconds {
    /// `0.3 ms`, `9.9 ms`, `134 ms`.
    static func text(_ nanoseconds: Int64) -> String {
        let microseconds = nanoseconds / 1000
        if microseconds >= 10_000 { return "\((microseconds + 500) / 1000) ms" }
        return "\(microseconds / 1000).\(microseconds % 1000 / 100) ms"
    }
}
