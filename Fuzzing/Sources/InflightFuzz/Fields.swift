@testable import InflightCore

extension HTTPFields {
    /// Creates fields from lines of `name: value`. Skips lines without a name, and drops white space around values.
    init(lines: some Sequence<ArraySlice<UInt8>>) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            append(name: line[..<colon], value: FieldScanner.trimmed(line[(colon + 1)...]))
        }
    }

    /// Creates one field line for each value.
    init(_ name: String, _ values: some Sequence<ArraySlice<UInt8>>) {
        self.init()
        for value in values { append(name: name.utf8, value: FieldScanner.trimmed(value)) }
    }

    /// The fields in HTTP/1.1 syntax.
    var wire: [UInt8] {
        (0..<count).flatMap { rawName($0) + Array(": ".utf8) + rawValue($0) + Array("\r\n".utf8) }
    }
}

extension WallTime {
    /// A Tuesday in 2023.
    static let example = WallTime(milliseconds: 1_700_000_000_000)
}
