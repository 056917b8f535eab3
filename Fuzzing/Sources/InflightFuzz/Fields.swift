@testable import InflightCore

extension HTTPFields {
    /// Fields from lines of `name: value`. What no field may hold is left out, as a transport does.
    init(lines: some Sequence<ArraySlice<UInt8>>) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            append(name: line[..<colon], value: FieldScanner.trimmed(line[(colon + 1)...]))
        }
    }

    /// One field of each of these values.
    init(_ name: String, _ values: some Sequence<ArraySlice<UInt8>>) {
        self.init()
        for value in values { append(name: name.utf8, value: FieldScanner.trimmed(value)) }
    }

    /// As HTTP/1.1 writes them.
    var wire: [UInt8] {
        (0..<count).flatMap { rawName($0) + Array(": ".utf8) + rawValue($0) + Array("\r\n".utf8) }
    }
}

extension WallTime {
    /// A Tuesday in 2023.
    static let example = WallTime(milliseconds: 1_700_000_000_000)
}
