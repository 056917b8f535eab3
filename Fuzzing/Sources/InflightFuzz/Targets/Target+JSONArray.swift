@testable import InflightBatch

extension Target {
    private struct Reading: Equatable {
        var results: [RowReader.Result] = []
        var failure: InputError?

        /// The numbers and lines of the rows and rejects.
        var places: [(number: Int, line: Int)] {
            results.map { result in
                switch result {
                case .row(let row): (row.number, row.line)
                case .reject(let reject): (reject.number, reject.line)
                }
            }
        }
    }

    /// An input of JSON rows, in lines or in arrays. The first byte is the size of the pieces, less one, in which the
    /// rest is read. The result must not depend on it.
    static let jsonArray = Target(name: "json-array") { bytes in
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        for limit in [40, 1 << 20] {
            let whole = read(rest, pieces: rest.count, limit)
            let inPieces = read(rest, pieces: Int(first) + 1, limit)
            require(whole == inPieces, "the rows do not depend on the pieces")
            require(whole.places.map(\.number) == Array(0..<whole.results.count), "each row has the next number")
            let lines = whole.places.map(\.line)
            require(zip(lines, lines.dropFirst()).allSatisfy { $0 <= $1 }, "lines never decrease")
            require(lines.allSatisfy { $0 >= 1 && $0 <= rest.count { $0 == 0x0A } + 1 }, "each line is in the input")
        }
    }

    private static func read(_ bytes: [UInt8], pieces: Int, _ limit: Int) -> Reading {
        var options = InputOptions()
        options.rowLimit = limit
        var reader = RowReader(format: .json, options: options)
        var reading = Reading()
        do throws(InputError) {
            for start in stride(from: 0, to: bytes.count, by: max(1, pieces)) {
                reader.append(bytes[start..<min(start + max(1, pieces), bytes.count)])
                while let result = try reader.next() { reading.results.append(result) }
            }
            reader.end()
            while let result = try reader.next() { reading.results.append(result) }
        } catch {
            reading.failure = error
        }
        return reading
    }
}
