/// The recorded rows of one input, compared with the rows that are read from it again.
///
/// A value without I/O. Rows are reported in their order, with their ``RowReader/Result/digest``. Recorded digests are
/// taken in blocks of ``blockLength`` rows, so that memory does not grow with the input:
///
/// ```swift
/// var history = InputHistory(recordedCount: try journal.recordedCount(ofInput: 0))
/// while let result = try reader.next() {
///     switch try history.rowDidRead(result.digest, block: { try journal.digests(ofInput: 0, block: $0) }) {
///     case .same: skip(result)
///     case .new: try journal.record(result.digest, ofInput: 0)
///     case .changed(let row): throw …
///     }
/// }
/// ```
package struct InputHistory: Sendable {
    /// How a row compares with the recorded ones.
    package enum Answer: Hashable, Sendable {
        /// The row has the recorded digest.
        case same
        /// The row is behind the recorded ones.
        case new
        /// A row differs from the recorded one. Names the first such row, from 0, also for all later rows.
        case changed(row: Int)
    }

    /// How an input compares with the recorded one at its end.
    package enum Ending: Hashable, Sendable {
        /// The input has all recorded rows.
        case complete
        /// The input has only so many rows, fewer than were recorded.
        case shrunk(rowCount: Int)
    }

    /// The number of rows in a block.
    package static let blockLength = 4096

    /// The number of rows that were recorded.
    package let recordedCount: Int
    /// Whether the input may have more rows than were recorded.
    package let mayGrow: Bool
    /// The number of rows that were read.
    package private(set) var rowCount = 0
    /// The first row that differs.
    package private(set) var firstDifference: Int?
    private var block: [UInt32] = []

    /// Creates a history.
    ///
    /// - Parameters:
    ///   - recordedCount: The number of rows that were recorded. 0 for a new input.
    ///   - mayGrow: Whether rows behind the recorded ones are new. False for an input that had ended before another one
    ///     followed: a new row would change the numbers of all rows of the following inputs.
    package init(recordedCount: Int, mayGrow: Bool = true) {
        self.recordedCount = max(0, recordedCount)
        self.mayGrow = mayGrow
    }

    /// Compares the next row.
    ///
    /// - Parameters:
    ///   - digest: The digest of the row.
    ///   - recorded: Returns the recorded digests of a block, given its number from 0. Called once for each block, in
    ///     their order. A row without a digest in its block counts as changed.
    package mutating func rowDidRead<Failure: Error>(
        _ digest: UInt32, block recorded: (Int) throws(Failure) -> [UInt32]
    ) throws(Failure) -> Answer {
        let row = rowCount
        if row < recordedCount, firstDifference == nil {
            let index = row % Self.blockLength
            if index == 0 { block = try recorded(row / Self.blockLength) }
            if index >= block.count || block[index] != digest { firstDifference = row }
        } else {
            block = []
            if row == recordedCount, !mayGrow, firstDifference == nil { firstDifference = row }
        }
        rowCount += 1
        if let firstDifference { return .changed(row: firstDifference) }
        return row < recordedCount ? .same : .new
    }

    /// Compares the end of the input.
    package func inputDidEnd() -> Ending {
        rowCount < recordedCount ? .shrunk(rowCount: rowCount) : .complete
    }
}
