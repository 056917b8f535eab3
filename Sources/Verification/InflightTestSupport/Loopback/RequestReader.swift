internal import Glibc
internal import InflightCore

/// Parses requests from a connection's bytes, including pipelined ones (RFC 9112). Confined to the connection's thread.
struct RequestReader {
    struct Message {
        var method: String
        var target: String
        var fields: HTTPFields
        var body: Bytes
        var keepsAlive: Bool
    }

    private static let maximumHead = 1 << 20
    private static let maximumBody = 256 << 20

    /// The received bytes, unused from `start` on.
    private var buffer: [UInt8] = []
    private var start = 0

    /// Returns the next request, or nil if the connection ended between two requests.
    mutating func next(from channel: Channel) throws(Interruption) -> Message? {
        var searched = start
        var headEnd = findHeadEnd(from: searched)
        while headEnd == nil {
            if buffer.count - start > Self.maximumHead { throw .malformed("the head is longer than 1 MiB") }
            compact()
            searched = max(0, buffer.count - 3)
            guard try channel.read(into: &buffer) else {
                if buffer.isEmpty { return nil }
                throw .peer
            }
            headEnd = findHeadEnd(from: searched)
        }
        var message = try parseHead(until: headEnd!)
        start = headEnd!
        if message.fields["Expect"]?.lowercased() == "100-continue", start == buffer.count {
            try channel.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        message.body = try readBody(message.fields, from: channel)
        return message
    }

    private mutating func compact() {
        if start > 0 { buffer.removeFirst(start) }
        start = 0
    }

    /// Returns the end of the first empty line.
    private func findHeadEnd(from position: Int) -> Int? {
        unsafe buffer.withUnsafeBytes { bytes in
            var index = position + 3
            while index < bytes.count {
                guard let found = unsafe memchr(bytes.baseAddress! + index, 0x0A, bytes.count - index) else {
                    return nil
                }
                let end = unsafe UnsafeRawPointer(found) - bytes.baseAddress!
                let isEnd = unsafe bytes[end - 1] == 0x0D && bytes[end - 2] == 0x0A && bytes[end - 3] == 0x0D
                if isEnd { return end + 1 }
                index = end + 1
            }
            return nil
        }
    }

    private func parseHead(until end: Int) throws(Interruption) -> Message {
        let head = buffer[start..<end - 2]
        var lines = head.split(separator: 0x0A, omittingEmptySubsequences: true).makeIterator()
        guard let first = lines.next() else { throw .malformed("there is no request line") }
        let words = first.dropLast(first.last == 0x0D ? 1 : 0).split(separator: 0x20)
        guard words.count == 3, words[2].starts(with: "HTTP/1.".utf8) else {
            throw .malformed("the request line is not HTTP/1")
        }
        var fields = HTTPFields()
        while let line = lines.next() {
            guard let colon = line.firstIndex(of: 0x3A) else { throw .malformed("a field has no colon") }
            let value = line[(colon + 1)...]
            let from = value.firstIndex { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D } ?? value.endIndex
            let to = value.lastIndex { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }.map { $0 + 1 } ?? from
            fields.append(name: line[..<colon], value: value[from..<to])
        }
        let options = fields["Connection"]?.lowercased() ?? ""
        let isOld = words[2].last == 0x30
        return Message(
            method: String(decoding: words[0], as: UTF8.self), target: String(decoding: words[1], as: UTF8.self),
            fields: fields, body: .empty,
            keepsAlive: isOld ? options.contains("keep-alive") : !options.contains("close"))
    }

    // MARK: Bodies

    private mutating func readBody(_ fields: HTTPFields, from channel: Channel) throws(Interruption) -> Bytes {
        if fields["Transfer-Encoding"]?.lowercased().contains("chunked") == true {
            return try readChunks(from: channel)
        }
        guard let text = fields["Content-Length"] else { return .empty }
        guard let count = Int(text), count >= 0, count <= Self.maximumBody else {
            throw .malformed("the Content-Length cannot be served")
        }
        return Bytes(Array(try take(count, from: channel)))
    }

    private mutating func readChunks(from channel: Channel) throws(Interruption) -> Bytes {
        var body: [UInt8] = []
        while true {
            let size = try line(from: channel).prefix { $0 != 0x3B && $0 != 0x20 }
            guard let count = Int(String(decoding: size, as: UTF8.self), radix: 16), count >= 0,
                count <= Self.maximumBody - body.count
            else { throw .malformed("a chunk's size cannot be served") }
            if count == 0 { break }
            body.append(contentsOf: try take(count, from: channel))
            _ = try line(from: channel)
        }
        // Trailers are ignored.
        while try !line(from: channel).isEmpty {}
        return Bytes(body)
    }

    private mutating func take(_ count: Int, from channel: Channel) throws(Interruption) -> ArraySlice<UInt8> {
        while buffer.count - start < count {
            guard try channel.read(into: &buffer) else { throw .peer }
        }
        defer { start += count }
        return buffer[start..<start + count]
    }

    /// Returns the next line without its line ending.
    private mutating func line(from channel: Channel) throws(Interruption) -> ArraySlice<UInt8> {
        while true {
            if let end = buffer[start...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                let line = buffer[start..<end]
                return line.last == 0x0D ? line.dropLast() : line
            }
            if buffer.count - start > Self.maximumHead { throw .malformed("a line is longer than 1 MiB") }
            guard try channel.read(into: &buffer) else { throw .peer }
        }
    }
}
