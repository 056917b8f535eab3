/// Reads the rows of several inputs, one at a time.
///
/// Each input is opened when the one before has ended. Memory does not grow with the length of the inputs. Used on one
/// thread at a time.
///
/// ```swift
/// let reader = InputReader(try InputSource.expanding(arguments), options: options)
/// while let entry = try reader.next() { … }
/// ```
package final class InputReader {
    /// A row or a reject, with its input.
    package struct Entry: Hashable, Sendable {
        /// The index of the input in ``InputReader/sources``.
        package var source: Int
        /// The row or reject. It is numbered from 0 among those of all inputs, without gaps, and its line is that of
        /// its own input.
        package var result: RowReader.Result
    }

    /// The inputs in the order in which they are read.
    package let sources: [InputSource]

    private let options: InputOptions
    private let standardInput: Int32
    private let keptCopy: String?
    private var current: InputFile?
    /// The index of the current input, or of the next one.
    private var index = 0
    /// The number of rows in the inputs that have ended.
    private var endedRowCount = 0
    /// The number of bytes of those inputs.
    private var endedBytes = 0.0
    /// The number of bytes of all inputs; `nil` if one is not a file.
    private let totalBytes: Double?
    private var failure: BatchFailure?

    /// Creates a reader at the beginning of the first input.
    ///
    /// - Parameters:
    ///   - options: The columns and the row limit for all inputs.
    ///   - standardInput: The descriptor of standard input. The reader does not close it.
    ///   - keptCopy: The path for a copy of standard input, complete when its end was read; if nil, none is made.
    package init(
        _ sources: [InputSource], options: InputOptions, standardInput: Int32 = 0, keptCopy: String? = nil
    ) {
        self.sources = sources
        self.options = options
        self.standardInput = standardInput
        self.keptCopy = keptCopy
        let sizes = sources.map(\.size)
        totalBytes = sizes.contains(nil) ? nil : sizes.reduce(0) { $0 + Double($1 ?? 0) }
    }

    /// The number of rows of all inputs, rejected ones included: that of ``InputSource/parts``, if the only input has
    /// some. Otherwise it is estimated by the bytes that the rows so far have taken, and `nil` before the first row or
    /// if an input is not a file.
    package var estimatedRowCount: Int? {
        if sources.count == 1, !sources[0].parts.isEmpty { return sources[0].parts.reduce(0) { $0 + $1.rowCount } }
        let read = endedBytes + (current?.readBytes ?? 0)
        guard let totalBytes, read > 0 else { return nil }
        let estimate = Double(endedRowCount + (current?.rowCount ?? 0)) * max(1, totalBytes / read)
        // A file of any size may be given.
        return Int(min(estimate, 1e15).rounded())
    }

    /// Returns the next row or reject, or `nil` after the last input. Blocks until it is read.
    ///
    /// - Throws: ``BatchFailure`` if an input cannot be read. The rows before the error were returned, those of later
    ///   inputs are not. Further calls throw the same error.
    package func next() throws(BatchFailure) -> Entry? {
        if let failure { throw failure }
        while index < sources.count {
            do throws(InputError) {
                let file = if let current { current } else { try open(sources[index]) }
                if let result = try file.next() { return entry(result) }
                endedRowCount += file.rowCount
                endedBytes += file.readBytes
            } catch {
                current = nil
                let failure: BatchFailure
                if case .cannotKeep(let reason) = error {
                    failure = reason
                } else {
                    failure = .input(InputFailure(name: sources[index].name, error: error))
                }
                self.failure = failure
                throw failure
            }
            current = nil
            index += 1
        }
        return nil
    }

    private func open(_ source: InputSource) throws(InputError) -> InputFile {
        let file = try InputFile(source, options: options, standardInput: standardInput, keptCopy: keptCopy)
        current = file
        return file
    }

    private func entry(_ result: RowReader.Result) -> Entry {
        switch result {
        case .row(var row):
            row.number += endedRowCount
            return Entry(source: index, result: .row(row))
        case .reject(var reject):
            reject.number += endedRowCount
            return Entry(source: index, result: .reject(reject))
        }
    }
}
