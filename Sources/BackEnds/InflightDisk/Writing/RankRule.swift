internal import InflightCore

/// What goes first when room is needed: the entry with the lowest rank.
///
/// A rank is how often an entry was used, above the rank of what was evicted last when it was used (least frequently used
/// with dynamic aging). So what was used often outlives one pass through many new things, as in memory, and what was used
/// often long ago does not stay for ever: newcomers begin ever higher. One number in one index of the database, changed
/// when an entry is used, and nothing to hold in memory. Parts of bodies come before all that is whole, the oldest first.
enum RankRule {
    /// Uses beyond these do not count.
    static let mostUses: Int64 = 15

    private static let partialOffset: Int64 = 1 << 61

    static func whole(age: Int64, uses: Int64) -> Int64 {
        age + min(max(uses, 1), mostUses)
    }

    static func partial(age: Int64) -> Int64 {
        age + 1 - partialOffset
    }

    /// The age after something of that rank was evicted.
    static func age(afterEvicting rank: Int64, age: Int64) -> Int64 {
        // A rank that was damaged must not let everything that comes count as new.
        rank > age && rank <= age + mostUses ? rank : age
    }

    static func of(isComplete: Bool, age: Int64, uses: Int64) -> Int64 {
        isComplete ? whole(age: age, uses: uses) : partial(age: age)
    }
}

extension IndexState {
    /// Counts an entry in, or out.
    mutating func count(_ row: EntryRow, _ record: EntryRecord?, by sign: Int64) {
        entries = max(0, entries + sign)
        bodyBytes = max(0, bodyBytes + sign * row.length)
        if row.isInFile { files = max(0, files + sign) }
        if sign > 0, row.isInFile { fileBytes += row.room }
        if record.map({ !$0.response.isComplete }) ?? (row.rank < 0) { partial = max(0, partial + sign) }
    }
}
