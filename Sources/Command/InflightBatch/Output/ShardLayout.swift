/// The names of a run's output: which shard holds a row, and how shards, keys and files are called.
///
/// Without ``part``, the names and the keys by position are those of img2dataset: shard `00000.tar`, key `000000000`.
/// With a part, both carry it (`00000-part-0001.tar`, key `000000000-part-0001`), so that the outputs of all parts can
/// be moved into one folder and read as one dataset without equal names or keys.
package struct ShardLayout: Hashable, Sendable {
    /// One part of a run that is divided between machines.
    package struct Part: Hashable, Sendable {
        /// The part's number, as in the option: at most ``count``.
        package let number: Int
        /// The number of parts, at least 1.
        package let count: Int

        /// Creates a part. Returns `nil` for a negative number, or one above `count`.
        package init?(number: Int, of count: Int) {
            guard count >= 1, number >= 0, number <= count else { return nil }
            self.number = number
            self.count = count
        }

        /// The end of the names of the part's shards: four digits, or as many as the number of parts needs.
        var suffix: String { "-part-" + padded(number, digits: max(4, decimalDigits(count))) }
    }

    /// The place of a row.
    package struct Position: Hashable, Sendable {
        /// The number of the shard, from 0.
        package let shard: Int
        /// The index of the row in its shard, from 0.
        package let index: Int
    }

    /// The maximum number of rows in a shard.
    package static let maximumShardSize = 10_000_000
    /// The maximum number of rows in a run: numbers above are not exact in JSON (RFC 8259 section 6).
    package static let maximumRowCount = 1 << 53

    /// The number of rows in a shard, at least 1. The last shard may have fewer.
    package let shardSize: Int
    /// The part of the run that this output is, if the run is divided.
    package let part: Part?
    private let shardDigits: Int
    private let indexDigits: Int

    /// Creates a layout.
    ///
    /// - Parameters:
    ///   - shardSize: The number of rows in a shard, from 1 to ``maximumShardSize``. Returns `nil` for any other.
    ///   - shardCount: The number of shards if it is known, so that all names have as many digits. Shard numbers have
    ///     five digits, and more only if they need more.
    ///   - part: The part of the run, if the run is divided.
    ///   - minimumIndexDigits: The minimum number of digits of the index in keys by position. The default is right for
    ///     img2dataset's default of 10,000 rows. For smaller shards img2dataset writes fewer: 1 gives the same keys as
    ///     there for 10 rows and more.
    package init?(shardSize: Int, shardCount: Int? = nil, part: Part? = nil, minimumIndexDigits: Int = 4) {
        guard shardSize >= 1, shardSize <= Self.maximumShardSize else { return nil }
        self.shardSize = shardSize
        self.part = part
        shardDigits = max(5, decimalDigits(max(0, (shardCount ?? 0) - 1)))
        indexDigits = max(min(minimumIndexDigits, 18), decimalDigits(shardSize - 1))
    }

    // MARK: Rows and shards

    /// Returns the place of a row. A negative row counts as 0.
    ///
    /// - Parameter row: The number of the row in input order, from 0. In a divided run, among the rows of the part.
    package func position(of row: Int) -> Position {
        let row = max(0, row)
        return Position(shard: row / shardSize, index: row % shardSize)
    }

    /// Returns the rows of a shard, empty beyond the input.
    ///
    /// - Parameters:
    ///   - shard: The number of the shard, from 0.
    ///   - rowCount: The number of rows in the input, if it is known.
    package func rows(of shard: Int, rowCount: Int? = nil) -> Range<Int> {
        let end = min(max(0, rowCount ?? Self.maximumRowCount), Self.maximumRowCount)
        let (first, overflow) = max(0, shard).multipliedReportingOverflow(by: shardSize)
        guard !overflow, first < end else { return end..<end }
        return first..<min(first + shardSize, end)
    }

    /// Returns the number of shards that `rowCount` rows need.
    package func shardCount(rowCount: Int) -> Int {
        rowCount > 0 ? (rowCount - 1) / shardSize + 1 : 0
    }

    // MARK: Names

    /// Returns a shard's name without extension, which is also its folder's name in the layout `files`.
    package func shardName(_ shard: Int) -> String {
        padded(shard, digits: shardDigits) + (part?.suffix ?? "")
    }

    /// Returns the name of a shard's archive.
    package func archiveName(_ shard: Int) -> String { shardName(shard) + ".tar" }

    /// Returns the name of a shard's sidecar.
    package func sidecarName(_ shard: Int) -> String { shardName(shard) + ".jsonl.zst" }

    /// Returns the name of a shard's statistics, as img2dataset's.
    package func statsName(_ shard: Int) -> String { shardName(shard) + "_stats.json" }

    /// Returns the names of a shard's files, if it has an archive: that first, and the statistics last.
    func fileNames(_ shard: Int) -> [String] { [archiveName(shard), sidecarName(shard), statsName(shard)] }

    /// Returns the key of a row by its position: the shard's number followed by the index, both with leading zeros.
    package func positionKey(_ position: Position) -> String {
        padded(position.shard, digits: shardDigits) + padded(position.index, digits: indexDigits) + (part?.suffix ?? "")
    }

    /// Returns the path of a file in the layout `files` by hash: `ab/cd/abcd….jpg`, the same for equal digests.
    package static func hashedPath(_ digest: ContentDigest, extension name: String) -> String {
        let hex = digest.hex
        return "\(hex.prefix(2))/\(hex.dropFirst(2).prefix(2))/\(hex).\(name)"
    }
}

extension ShardLayout {
    /// Creates the layout of a run. Returns `nil` if its options are not those of one.
    init?(of journal: Journal) {
        var part: Part?
        if let text = journal.options["part"] {
            let numbers = text.split(separator: "/").map { Int($0) ?? -1 }
            guard numbers.count == 2, let found = Part(number: numbers[0], of: numbers[1]) else { return nil }
            part = found
        }
        self.init(shardSize: journal.layout.shardSize, part: part)
    }
}

private func decimalDigits(_ value: Int) -> Int { String(value).utf8.count }

private func padded(_ value: Int, digits: Int) -> String {
    let text = String(max(0, value))
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
