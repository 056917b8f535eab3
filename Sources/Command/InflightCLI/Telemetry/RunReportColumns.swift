import Inflight
import InflightCore

/// Columns of numbers of equal length, written by their names.
struct ColumnTable {
    private var columns: [(name: String, isDifference: Bool, numbers: NumberColumn)]

    /// - Parameters:
    ///   - names: The names of the columns, in the order of a row.
    ///   - differences: The columns that hold the differences between successive numbers.
    init(_ names: [String], differences: Set<String> = []) {
        columns = names.map { ($0, differences.contains($0), NumberColumn()) }
    }

    mutating func append(_ row: Int...) {
        for (index, number) in row.enumerated() {
            if columns[index].isDifference {
                columns[index].numbers.append(difference: number)
            } else {
                columns[index].numbers.append(number)
            }
        }
    }

    func add(to writer: inout JSONWriter) {
        for column in columns { writer.add(column.name, plain: column.numbers.bytes) }
    }
}

/// Distinct values as rows of a table, numbered in the order of their first use.
struct NumberedRows<Key: Hashable> {
    private var numbers: [Key: Int] = [:]
    var columns: ColumnTable

    init(_ columns: ColumnTable) {
        self.columns = columns
    }

    /// Returns the number of a value. If it is new, its row has to be appended.
    mutating func number(_ key: Key) -> (number: Int, isNew: Bool) {
        let number = numbers[key] ?? numbers.count
        let isNew = number == numbers.count
        if isNew { numbers[key] = number }
        return (number, isNew)
    }
}

/// The distinct thumbnails of the first loads, as many as fit into the page.
struct ThumbnailColumns {
    /// The loads, and for each of them the index in ``pictures``.
    private var columns = ColumnTable(["loads", "numbers"], differences: ["loads", "numbers"])
    private var pictures: [String] = []

    /// - Parameter room: The maximum number of bytes that they take in the page.
    init(_ all: [RunRecord.Load], room: Int) {
        var left = room - 64
        var known: [[UInt8]: Int] = [:]
        for (index, load) in all.enumerated() {
            guard let bytes = load.thumbnail, let type = Self.mediaType(bytes) else { continue }
            let number = known[bytes] ?? pictures.count
            // Two numbers; for a new one also base64, its prefix, quotation marks and comma.
            let cost = 8 + (number == pictures.count ? (bytes.count + 2) / 3 * 4 + 32 : 0)
            guard cost <= left else { continue }
            left -= cost
            columns.append(index, number)
            guard number == pictures.count else { continue }
            known[bytes] = number
            pictures.append("data:\(type);base64,\(Base64.encoded(bytes))")
        }
    }

    func add(to writer: inout JSONWriter) {
        columns.add(to: &writer)
        writer.add("pictures", pictures)
    }

    /// Returns the media type for the first bytes, or `nil` if this program's encoders cannot have written them.
    private static func mediaType(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        return bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) ? "image/png" : nil
    }
}

/// Reduces the samples of a value that changes with time, evenly over the whole time.
enum Thinning {
    /// Returns the last sample of each interval, and the busiest one.
    static func lane(_ samples: [RunRecord.Lane.Sample], to most: Int) -> [RunRecord.Lane.Sample] {
        guard samples.count > most, let end = samples.last?.at else { return samples }
        var result: [RunRecord.Lane.Sample] = []
        var rest = samples[...]
        let parts = max(1, most / 2)
        for part in 1...parts {
            let until = part == parts ? Int.max : end / parts * part
            let those = rest.prefix { $0.at <= until }
            rest = rest.dropFirst(those.count)
            guard let last = those.indices.last else { continue }
            let busiest = those.indices.max { one, other in
                (those[one].running + those[one].waiting) < (those[other].running + those[other].waiting)
            }
            if let busiest, busiest != last { result.append(those[busiest]) }
            result.append(those[last])
        }
        return result
    }

    /// Returns the last sample of each interval: the bytes received by then.
    static func bytes(_ samples: [RunRecord.BytesSample], to most: Int) -> [RunRecord.BytesSample] {
        guard samples.count > most, let end = samples.last?.at else { return samples }
        var result: [RunRecord.BytesSample] = []
        var part = -1
        for sample in samples {
            let own = end <= 0 ? 0 : sample.at * most / (end + 1)
            if own == part { result.removeLast() }
            part = own
            result.append(sample)
        }
        return result
    }
}
