internal import InflightCore

/// The eviction order. The entry with the lowest rank is evicted first.
///
/// A rank is the number of uses of an entry plus the age at its last use, which is the rank of the entry evicted last
/// before it (least frequently used with dynamic aging). Frequently used entries thus outlive one pass through many new
/// ones, as in memory, but entries used often long ago do not stay forever, since new ones start at ever higher ranks.
/// This takes one number in one index of the database, changed at each use, and no memory. Partial bodies go first,
/// oldest first.
enum EvictionRank {
    /// The maximum number of uses that count.
    static let maximumUses: Int64 = 15

    private static let partialOffset: Int64 = 1 << 61

    static func whole(age: Int64, uses: Int64) -> Int64 {
        age + min(max(uses, 1), maximumUses)
    }

    static func partial(age: Int64) -> Int64 {
        age + 1 - partialOffset
    }

    /// Returns the age after an entry of that rank was evicted.
    static func age(afterEvicting rank: Int64, age: Int64) -> Int64 {
        // A damaged rank must not raise the age, or every later entry would outrank all present ones.
        rank > age && rank <= age + maximumUses ? rank : age
    }

    /// Whether a use changes the row. Of the entries used most, no use is written until others have aged.
    ///
    /// - Parameter age: nil if it is not known.
    static func changes(_ row: EntryRow, age: Int64?) -> Bool {
        guard row.uses >= maximumUses, let age else { return true }
        // Numbers of a damaged index may be too large. Then this use counts or not.
        return row.rank < age &+ maximumUses
    }

    static func of(isComplete: Bool, age: Int64, uses: Int64) -> Int64 {
        isComplete ? whole(age: age, uses: uses) : partial(age: age)
    }
}

extension IndexState {
    /// Adds an entry to the totals, or subtracts it.
    mutating func count(_ row: EntryRow, _ record: EntryRecord?, by sign: Int64) {
        entries = max(0, entries + sign)
        bodyBytes = max(0, bodyBytes + sign * row.length)
        if row.isInFile { files = max(0, files + sign) }
        if sign > 0, row.isInFile { fileBytes += row.room }
        if record.map({ !$0.response.isComplete }) ?? (row.rank < 0) { partial = max(0, partial + sign) }
    }
}
