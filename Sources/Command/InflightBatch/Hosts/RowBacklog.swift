/// Numbers of rows that wait, in their order, each with the time since which it does, in whole milliseconds.
///
/// Each row is stored as its differences from the one before, which takes about two bytes if the rows were read one
/// after the other. All operations take constant time on average.
struct RowBacklog: Sendable {
    private static let chunkSize = 4096

    /// The first row, if there is one.
    private(set) var first: (number: Int, since: Duration)?
    private var last = (number: 0, milliseconds: 0)
    /// The rows behind the first one.
    private var chunks: [[UInt8]] = []
    /// Where the second row begins in the first chunk.
    private var next = 0

    var isEmpty: Bool { first == nil }

    mutating func append(_ number: Int, since: Duration) {
        let (seconds, attoseconds) = since.components
        let row = (number: number, milliseconds: Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000))
        defer { last = row }
        guard first != nil else {
            first = (number, .milliseconds(row.milliseconds))
            return
        }
        if (chunks.last?.count ?? Self.chunkSize) > Self.chunkSize - 20 {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(Self.chunkSize)
        }
        append(row.number - last.number)
        append(row.milliseconds - last.milliseconds)
    }

    /// Removes the first row, which there is.
    mutating func removeFirst() -> (number: Int, since: Duration) {
        guard let removed = first else { preconditionFailure("there is a first row") }
        if chunks.isEmpty {
            first = nil
        } else {
            first = (removed.number + take(), removed.since + .milliseconds(take()))
            if next == chunks[0].count {
                chunks.removeFirst()
                next = 0
            }
        }
        return removed
    }

    // MARK: Differences, seven bits in each byte, the least significant ones first

    private mutating func append(_ difference: Int) {
        // Small negative numbers become small, too.
        var rest = UInt(bitPattern: difference << 1 ^ difference >> (Int.bitWidth - 1))
        while rest >= 128 {
            chunks[chunks.count - 1].append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        chunks[chunks.count - 1].append(UInt8(rest))
    }

    private mutating func take() -> Int {
        var (value, shift) = (UInt(0), UInt(0))
        while true {
            let byte = chunks[0][next]
            next += 1
            value |= UInt(byte & 127) << shift
            shift += 7
            if byte < 128 { return Int(bitPattern: value >> 1) ^ -Int(bitPattern: value & 1) }
        }
    }
}
