internal import Glibc
internal import InflightCore

/// Parses a head from the lines that libcurl passes on, for any version of HTTP (RFC 9112 sections 4 and 5).
enum HeadParser {
    enum Outcome: Equatable {
        case interim(ResponseHead)
        case final(ResponseHead, Framing)
        case malformed(String)
    }

    /// The body's framing according to the header fields.
    struct Framing: Equatable {
        var contentLength: Int64?
        var isChunked = false
        var isCoded = false
    }

    /// - Parameters:
    ///   - text: All lines, including the empty one at the end, with folded lines joined.
    ///   - lines: The approximate number of lines.
    static func parse(_ text: UnsafeBufferPointer<UInt8>, lines: Int) -> Outcome {
        guard text.count > 0 else { return .malformed("the response has no header section") }
        do throws(Problem) {
            let (head, framing) = try unsafe parse(Scanner(text), lines)
            // 101 ends the use of HTTP on the connection, so nothing follows it.
            return (100..<200).contains(head.status) && head.status != 101 ? .interim(head) : .final(head, framing)
        } catch {
            return .malformed(error.what)
        }
    }

    /// Returns the trailer fields of a chunked body or a stream (RFC 9112 section 7.1.2, RFC 9113 section 8.1).
    ///
    /// - Parameter text: All lines, with folded lines joined.
    static func trailers(_ text: UnsafeBufferPointer<UInt8>) -> HTTPFields {
        var fields = HTTPFields()
        guard text.count > 0 else { return fields }
        let text = unsafe Scanner(text)
        var position = 0
        while let line = text.line(from: &position) {
            if let (name, value) = field(text, line) {
                unsafe fields.append(rawName: text.bytes(name), rawValue: text.bytes(value))
            }
        }
        return fields
    }

    private struct Problem: Error {
        let what: String
    }

    private static func parse(_ text: Scanner, _ lines: Int) throws(Problem) -> (ResponseHead, Framing) {
        var position = 0
        var head = ResponseHead(status: 0)
        var framing = Framing()
        guard let statusLine = text.line(from: &position), readStatus(text, statusLine, into: &head) else {
            throw Problem(what: "the first line is not a status line")
        }
        head.fields.reserve(bytes: text.count - position, lines: lines)
        while let line = text.line(from: &position), !line.isEmpty {
            guard let (name, value) = field(text, line) else { continue }
            unsafe head.fields.append(rawName: text.bytes(name), rawValue: text.bytes(value))
            if let problem = readFraming(text, name, value, into: &framing) { throw Problem(what: problem) }
        }
        return (head, framing)
    }

    /// Parses a field line. Returns nil for a line without a name, which is dropped.
    private static func field(_ text: Scanner, _ line: Range<Int>) -> (name: Range<Int>, value: Range<Int>)? {
        guard let colon = text.position(of: Byte.colon, in: line), colon > line.lowerBound,
            !text.hasSpace(in: line.lowerBound..<colon)
        else { return nil }
        return (line.lowerBound..<colon, text.trimmed(colon + 1..<line.upperBound))
    }

    /// Parses `HTTP/1.1 200 OK`. libcurl writes the same kind of line for HTTP/2.
    private static func readStatus(_ text: Scanner, _ line: Range<Int>, into head: inout ResponseHead) -> Bool {
        guard line.count >= 10, text.isNamed(line.lowerBound..<line.lowerBound + 5, "http/"),
            let space = text.position(of: Byte.space, in: line)
        else { return false }
        switch text[line.lowerBound + 5] {
        case UInt8(ascii: "1"): head.version = text[space - 1] == UInt8(ascii: "0") ? .http1_0 : .http1_1
        case UInt8(ascii: "2"): head.version = .http2
        case UInt8(ascii: "3"): head.version = .http3
        default: return false
        }
        let digits = text.trimmed(space..<line.upperBound).prefix(3)
        guard digits.count == 3, let status = text.number(digits), status >= 100 else { return false }
        head.status = Int(status)
        return true
    }

    /// The transfer codings that libcurl decodes (RFC 9112 section 7).
    private static let transferCodings: [StaticString] = [
        "chunked", "identity", "gzip", "x-gzip", "deflate", "br", "zstd",
    ]

    /// - Returns: The reason why the framing cannot be trusted, or nil.
    private static func readFraming(
        _ text: Scanner, _ name: Range<Int>, _ value: Range<Int>, into framing: inout Framing
    ) -> String? {
        switch name.count {
        case 14 where text.isNamed(name, "content-length"):
            guard let length = text.sameNumbers(value) else { return "Content-Length is not a number" }
            // RFC 9110 section 8.6: differing values are an error.
            if let earlier = framing.contentLength, earlier != length { return "the values of Content-Length differ" }
            framing.contentLength = length
        case 16 where text.isNamed(name, "content-encoding"):
            if !value.isEmpty, !text.isNamed(value, "identity") { framing.isCoded = true }
        case 17 where text.isNamed(name, "transfer-encoding"):
            for coding in text.members(value) where !transferCodings.contains(where: { text.isNamed(coding, $0) }) {
                return "the Transfer-Encoding is unknown, so the body cannot be decoded"
            }
            framing.isChunked = true
        default: break
        }
        return nil
    }
}

private enum Byte {
    static let tab = UInt8(ascii: "\t")
    static let lf = UInt8(ascii: "\n")
    static let cr = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
}

/// Reads bytes in memory, which must live as long as the scanner.
// Safe: all ranges come from the scanner itself, or are parts of such ranges.
@safe private struct Scanner {
    private let base: UnsafePointer<UInt8>
    let count: Int

    /// - Parameter bytes: Not empty.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        unsafe base = bytes.baseAddress.unsafelyUnwrapped
        count = bytes.count
    }

    subscript(position: Int) -> UInt8 { unsafe base[position] }

    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    func position(of byte: UInt8, in range: Range<Int>) -> Int? {
        guard let found = unsafe memchr(base + range.lowerBound, Int32(byte), range.count) else { return nil }
        return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Returns the next line without its terminator, which is LF or CR LF.
    func line(from position: inout Int) -> Range<Int>? {
        guard position < count else { return nil }
        let start = position
        var end = self.position(of: Byte.lf, in: start..<count) ?? count
        position = min(end + 1, count)
        if end > start, self[end - 1] == Byte.cr { end -= 1 }
        return start..<end
    }

    func hasSpace(in range: Range<Int>) -> Bool {
        range.contains { self[$0] <= Byte.space || self[$0] == 0x7F }
    }

    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == Byte.space || self[start] == Byte.tab { start += 1 }
        while end > start, self[end - 1] == Byte.space || self[end - 1] == Byte.tab { end -= 1 }
        return start..<end
    }

    func isNamed(_ range: Range<Int>, _ lowerCase: StaticString) -> Bool {
        guard range.count == lowerCase.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count {
            let byte = self[range.lowerBound + offset].asciiLowercased
            if unsafe byte != lowerCase.utf8Start[offset] { return false }
        }
        return true
    }

    /// Returns the number, the largest possible one if it overflows, or nil if it is malformed.
    func number(_ range: some Collection<Int>) -> Int64? {
        if range.isEmpty { return nil }
        var sum: Int64 = 0
        for position in range {
            let byte = self[position]
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, isTooLarge) = sum.multipliedReportingOverflow(by: 10)
            let (next, overflows) = product.addingReportingOverflow(Int64(byte - 0x30))
            sum = isTooLarge || overflows ? .max : next
        }
        return sum
    }

    /// Returns the comma-separated members.
    func members(_ range: Range<Int>) -> [Range<Int>] {
        var members: [Range<Int>] = []
        var start = range.lowerBound
        while true {
            let end = position(of: Byte.comma, in: start..<range.upperBound) ?? range.upperBound
            members.append(trimmed(start..<end))
            if end == range.upperBound { return members }
            start = end + 1
        }
    }

    /// Returns the number if the value is one number, or the same one repeated between commas.
    func sameNumbers(_ range: Range<Int>) -> Int64? {
        guard position(of: Byte.comma, in: range) != nil else { return number(range) }
        let numbers = members(range).map { number($0) }
        return numbers.allSatisfy { $0 == numbers[0] } ? numbers[0] : nil
    }
}
