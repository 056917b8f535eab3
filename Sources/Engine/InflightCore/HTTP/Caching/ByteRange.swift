/// The value of a request's `Range` field (RFC 9110 section 14.2).
package enum RangeRequest: Hashable, Sendable {
    /// No `Range`, or one that may be ignored: another unit, or malformed.
    case whole
    case one(ByteRange)
    /// Several ranges, or several lines: the response may be the whole representation instead (section 14.2).
    case several

    package init(_ fields: HTTPFields) {
        let lines = fields.rawValues("range")
        guard let line = lines.first else {
            self = .whole
            return
        }
        let value = FieldScanner.trimmed(line)
        guard let equals = value.firstIndex(of: .equals),
            value[..<equals].map(\.asciiLowercased).elementsEqual("bytes".utf8)
        else {
            self = .whole
            return
        }
        let members = value[(equals + 1)...].split(separator: .comma).map { FieldScanner.trimmed($0) }
            .filter { !$0.isEmpty }
        let ranges = members.compactMap { ByteRange($0) }
        if ranges.isEmpty || ranges.count != members.count {
            self = .whole
        } else {
            self = ranges.count == 1 && lines.count == 1 ? .one(ranges[0]) : .several
        }
    }
}

/// One byte range of a request (RFC 9110 section 14.1.2).
package enum ByteRange: Hashable, Sendable {
    case from(Int64)
    /// Both ends are inclusive.
    case between(Int64, Int64)
    case last(Int64)

    init?(_ text: ArraySlice<UInt8>) {
        guard let dash = text.firstIndex(of: .dash) else { return nil }
        let first = text[..<dash]
        let last = text[(dash + 1)...]
        if first.isEmpty {
            guard let count = FieldScanner.number(last) else { return nil }
            self = .last(count)
        } else if last.isEmpty {
            guard let start = FieldScanner.number(first) else { return nil }
            self = .from(start)
        } else {
            guard let start = FieldScanner.number(first), let end = FieldScanner.number(last), start <= end else {
                return nil
            }
            self = .between(start, end)
        }
    }

    /// Returns the bytes in a representation of `total` bytes; `nil` if it has none of them.
    package func resolved(total: Int64) -> Range<Int64>? {
        switch self {
        case .from(let start): start < total ? start..<total : nil
        case .between(let start, let end): start < total ? start..<(min(end, total - 1) + 1) : nil
        case .last(let count): count > 0 && total > 0 ? max(0, total - count)..<total : nil
        }
    }
}

/// The value of `Content-Range` (RFC 9110 section 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The range; `nil` if no byte could be sent (`bytes */10`).
    package var range: Range<Int64>?
    /// The total length; `nil` if it is unknown (`bytes 0-4/*`).
    package var total: Int64?

    /// Parses the field; `nil` if it is missing, repeated or malformed.
    package init?(_ fields: HTTPFields) {
        let lines = fields.rawValues("content-range")
        guard lines.count == 1 else { return nil }
        let words = FieldScanner.trimmed(lines[0]).split(separator: 0x20)
        guard words.count == 2, words[0].map(\.asciiLowercased).elementsEqual("bytes".utf8) else { return nil }
        let parts = words[1].split(separator: .slash, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if !parts[1].elementsEqual("*".utf8) {
            guard let number = FieldScanner.number(parts[1]), number < .max else { return nil }
            total = number
        }
        if parts[0].elementsEqual("*".utf8) {
            guard total != nil else { return nil }
            return
        }
        guard case .between(let first, let last)? = ByteRange(parts[0]), last < .max, last < total ?? .max else {
            return nil
        }
        range = first..<(last + 1)
    }

    /// Returns a field value.
    package static func text(_ range: Range<Int64>?, total: Int64?) -> String {
        let part = range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
        return "bytes \(part)/\(total.map(String.init) ?? "*")"
    }
}
