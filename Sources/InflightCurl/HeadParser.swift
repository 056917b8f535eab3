internal import InflightCore

/// Makes heads of the lines that libcurl hands over, whatever the version of HTTP (RFC 9112 sections 4 and 5).
///
/// The lines of one head are collected, bounded, and taken apart when its empty line has come. What follows the final
/// head, trailers, is left alone.
struct HeadParser {
    enum Outcome {
        /// More lines are needed, or the line was no part of a head.
        case more
        case interim(ResponseHead)
        case final(ResponseHead, Framing)
        case tooLong
        case malformed(String)
    }

    /// What the fields say of the body.
    struct Framing: Equatable {
        var contentLength: Int64?
        var isChunked = false
        var isCoded = false
    }

    /// More interim answers than this are an attack.
    static let maximumInterimHeads = 64

    private(set) var isComplete = false
    /// Whether anything of an answer came.
    private(set) var hasBegun = false
    private var text: [UInt8] = []
    private var interimHeads = 0
    private let maximumBytes: Int

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Takes the next line, with its line end.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Outcome {
        if isComplete { return .more }
        if !hasBegun {
            hasBegun = true
            text.reserveCapacity(512)
        }
        guard line.count <= maximumBytes - text.count else { return .tooLong }
        unsafe text.append(contentsOf: line)
        guard line.count <= 2, unsafe line.allSatisfy({ $0 == Self.cr || $0 == Self.lf }) else { return .more }
        return finish()
    }

    /// Takes ``take(_:)``'s bytes from an array: for tests.
    mutating func take(_ line: [UInt8]) -> Outcome {
        unsafe line.withUnsafeBytes { unsafe take($0) }
    }

    private static let cr = UInt8(ascii: "\r")
    private static let lf = UInt8(ascii: "\n")

    private mutating func finish() -> Outcome {
        defer { text.removeAll(keepingCapacity: true) }
        var lines = LineReader(position: 0)
        guard let status = lines.next(in: text), var head = Self.statusLine(text[status]) else {
            return .malformed("The first line of its answer is no status line")
        }
        var framing = Framing()
        while let line = lines.next(in: text) {
            if line.isEmpty { break }
            // An old way to fold long values (RFC 9112 section 5.2): the break counts as white space.
            var end = line.upperBound
            while end < text.count, let folded = lines.nextFolded(in: text) {
                for position in end..<folded.lowerBound { text[position] = UInt8(ascii: " ") }
                end = folded.upperBound
            }
            if let problem = Self.field(text[line.lowerBound..<end], into: &head.fields, &framing) {
                return .malformed(problem)
            }
        }
        if (100..<200).contains(head.status), head.status != 101 {
            interimHeads += 1
            guard interimHeads <= Self.maximumInterimHeads else {
                return .malformed("It sent more than \(Self.maximumInterimHeads) interim answers")
            }
            return .interim(head)
        }
        isComplete = true
        return .final(head, framing)
    }

    /// `HTTP/1.1 200 OK`; libcurl writes the same kind of line for HTTP/2.
    private static func statusLine(_ line: ArraySlice<UInt8>) -> ResponseHead? {
        guard line.starts(with: "HTTP/".utf8) else { return nil }
        let version = line.dropFirst(5).prefix { $0 != UInt8(ascii: " ") }
        let digits = line[version.endIndex...].drop { $0 == UInt8(ascii: " ") }.prefix(3)
        guard digits.count == 3, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard status >= 100 else { return nil }
        let known: ResponseHead.Version
        switch version.first {
        case UInt8(ascii: "1"): known = version.last == UInt8(ascii: "0") ? .http1_0 : .http1_1
        case UInt8(ascii: "2"): known = .http2
        case UInt8(ascii: "3"): known = .http3
        default: return nil
        }
        return ResponseHead(status: status, version: known)
    }

    /// Adds the field of `line`; a line without a name is dropped.
    /// - Returns: what is wrong, where the framing cannot be trusted.
    private static func field(
        _ line: ArraySlice<UInt8>, into fields: inout HTTPFields, _ framing: inout Framing
    ) -> String? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
        let name = line[..<colon]
        if name.contains(where: { $0 <= 0x20 || $0 == 0x7F }) { return nil }
        var value = line[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        fields.append(name: name, value: value)
        switch name.count {
        case 14 where isNamed(name, "content-length"):
            guard let length = number(value) else { return "Its Content-Length is no number" }
            // RFC 9110 section 8.6: values that differ are an error.
            if let earlier = framing.contentLength, earlier != length { return "It sent two different Content-Lengths" }
            framing.contentLength = length
        case 16 where isNamed(name, "content-encoding"):
            framing.isCoded = framing.isCoded || !isNamed(value, "identity")
        case 17 where isNamed(name, "transfer-encoding"):
            framing.isChunked = true
        default: break
        }
        return nil
    }

    private static func isNamed(_ bytes: ArraySlice<UInt8>, _ lowerCase: StaticString) -> Bool {
        guard bytes.count == lowerCase.utf8CodeUnitCount else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            for position in bytes.indices {
                if unsafe bytes[position].asciiLowercased != lowerCase.utf8Start[position] { return false }
            }
            return true
        }
    }

    /// One number, or the same one several times in a list.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        var value: Int64?
        for part in bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            var digits = part
            while let first = digits.first, first == 0x20 || first == 0x09 { digits.removeFirst() }
            while let last = digits.last, last == 0x20 || last == 0x09 { digits.removeLast() }
            guard !digits.isEmpty, digits.count <= 18 else { return nil }
            var sum: Int64 = 0
            for digit in digits {
                guard digit >= 0x30, digit <= 0x39 else { return nil }
                sum = sum * 10 + Int64(digit - 0x30)
            }
            if let value, value != sum { return nil }
            value = sum
        }
        return value
    }
}

/// Finds lines in bytes; a line ends with LF, or CR LF.
private struct LineReader {
    var position: Int

    mutating func next(in text: [UInt8]) -> Range<Int>? {
        guard position < text.count else { return nil }
        let start = position
        var end = start
        while end < text.count, text[end] != UInt8(ascii: "\n") { end += 1 }
        position = min(end + 1, text.count)
        if end > start, text[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return start..<end
    }

    /// The next line, where it goes on with the one before.
    mutating func nextFolded(in text: [UInt8]) -> Range<Int>? {
        guard position < text.count, text[position] == 0x20 || text[position] == 0x09 else { return nil }
        return next(in: text)
    }
}
