internal import InflightCore

/// Writes one response to the connection: head, body, framing, and the actions at their places.
struct ResponseWriter {
    typealias Response = LoopbackServer.Response
    typealias Act = (Response.Action) throws(Interruption) -> Void

    private let response: Response
    private let framing: Response.Framing
    private let hasBody: Bool
    /// Whether another request may follow on the connection.
    private(set) var keepsAlive: Bool
    /// The bytes that are sent before anything else happens.
    private var pending: [UInt8] = []

    private static let largestPending = 32 * 1024

    init(_ response: Response, isHead: Bool, keepsAlive: Bool) {
        self.response = response
        let status = response.status
        hasBody = response.framing == .raw || (!isHead && status != 204 && status != 304 && !(100..<200 ~= status))
        switch (response.framing, response.body) {
        case (.automatic, .endless): framing = .untilClose
        case (.automatic, .bytes(let bytes)): framing = .contentLength(Int64(bytes.count))
        case (let told, _): framing = told
        }
        var keepsAlive = keepsAlive
        switch (framing, response.body) {
        case (.untilClose, _), (.raw, _): keepsAlive = keepsAlive && !hasBody
        case (.contentLength(let count), .bytes(let bytes)):
            if hasBody && count != Int64(bytes.count) { keepsAlive = false }
        default: break
        }
        self.keepsAlive = keepsAlive
    }

    mutating func send(to channel: Channel, _ act: Act) throws(Interruption) {
        try perform(.head, channel, act)
        if framing != .raw {
            for head in response.interim { appendHead(head.status, nil, head.fields) }
            appendFinalHead()
        }
        if hasBody {
            try sendBody(to: channel, act)
        } else {
            try perform(.body(0), channel, act)
        }
        try perform(.end, channel, act)
        if hasBody, case .chunked = framing {
            pending.append(contentsOf: "0\r\n".utf8)
            appendFields(response.trailers)
            pending.append(contentsOf: "\r\n".utf8)
        }
        try flush(channel)
    }

    // MARK: Head

    private mutating func appendFinalHead() {
        var fields = response.fields
        let isBodiless = response.status == 204 || response.status == 304 || 100..<200 ~= response.status
        switch framing {
        case .contentLength(let count):
            let isMeant = response.framing != .automatic || !isBodiless
            if isMeant, !fields.contains("Content-Length") { fields.append("Content-Length", String(count)) }
        case .chunked:
            if !fields.contains("Transfer-Encoding") { fields.append("Transfer-Encoding", "chunked") }
        case .automatic, .untilClose, .raw: break
        }
        if !keepsAlive, !fields.contains("Connection") { fields.append("Connection", "close") }
        appendHead(response.status, response.reason, fields, rawLines: response.rawLines)
    }

    private mutating func appendHead(_ status: Int, _ reason: String?, _ fields: HTTPFields, rawLines: [Bytes] = []) {
        pending.append(contentsOf: "HTTP/1.1 \(status) \(reason ?? Self.reason(status))\r\n".utf8)
        appendFields(fields)
        for line in rawLines {
            pending.append(contentsOf: line.array)
            pending.append(contentsOf: "\r\n".utf8)
        }
        pending.append(contentsOf: "\r\n".utf8)
    }

    private mutating func appendFields(_ fields: HTTPFields) {
        for index in 0..<fields.count {
            pending.append(contentsOf: fields.rawName(index))
            pending.append(contentsOf: ": ".utf8)
            pending.append(contentsOf: fields.rawValue(index))
            pending.append(contentsOf: "\r\n".utf8)
        }
    }

    // MARK: Body

    private mutating func sendBody(to channel: Channel, _ act: Act) throws(Interruption) {
        let count: Int
        let pattern: Bytes
        switch response.body {
        case .bytes(let bytes): (count, pattern) = (bytes.count, bytes)
        case .endless(let bytes): (count, pattern) = (.max, bytes)
        }
        var chunkSizes = ChunkSizes(framing)
        let places = Set(response.actions.compactMap { if case .body(let offset) = $0.place { offset } else { nil } })
            .sorted()
        var nextPlace = places.startIndex
        var position = 0
        var chunkEnd = 0
        while true {
            if nextPlace < places.endIndex, places[nextPlace] == position {
                try perform(.body(position), channel, act)
                nextPlace += 1
            }
            if position == count { return }
            if chunkSizes.isChunked, position == chunkEnd {
                let size = min(chunkSizes.next(), count - position)
                chunkEnd = position + size
                pending.append(contentsOf: (String(size, radix: 16) + "\r\n").utf8)
            }
            var end = chunkSizes.isChunked ? chunkEnd : count
            if nextPlace < places.endIndex { end = min(end, places[nextPlace]) }
            position = try sendPiece(of: pattern, from: position, to: end, channel)
            if chunkSizes.isChunked, position == chunkEnd {
                pending.append(contentsOf: "\r\n".utf8)
                // A chunk is written in one piece, so that a client is likely to receive it as one.
                if position < count { try flush(channel) }
            }
        }
    }

    /// Sends from `position` up to `end` at most, and returns the position that it reached.
    private mutating func sendPiece(
        of pattern: Bytes, from position: Int, to end: Int, _ channel: Channel
    ) throws(Interruption) -> Int {
        let from = position % max(1, pattern.count)
        let count = min(end - position, pattern.count - from)
        if pending.count + count <= Self.largestPending {
            unsafe pattern.withUnsafeBytes { unsafe pending.append(contentsOf: $0[from..<from + count]) }
            return position + count
        }
        try flush(channel)
        try unsafe pattern.withUnsafeBytes { (bytes) throws(Interruption) in
            try unsafe channel.write(UnsafeRawBufferPointer(rebasing: bytes[from..<from + count]))
        }
        return position + count
    }

    // MARK: Actions

    private mutating func perform(_ place: Response.Place, _ channel: Channel, _ act: Act) throws(Interruption) {
        for action in response.actions where action.place == place {
            try flush(channel)
            try act(action.action)
        }
    }

    private mutating func flush(_ channel: Channel) throws(Interruption) {
        guard !pending.isEmpty else { return }
        try channel.write(pending)
        pending.removeAll(keepingCapacity: true)
    }

    private struct ChunkSizes {
        private var sizes: [Int] = []
        private var index = 0
        let isChunked: Bool

        init(_ framing: Response.Framing) {
            if case .chunked(let sizes) = framing {
                self.sizes = sizes.isEmpty ? [16 * 1024] : sizes
                isChunked = true
            } else {
                isChunked = false
            }
        }

        mutating func next() -> Int {
            defer { index = (index + 1) % sizes.count }
            return sizes[index]
        }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 103: "Early Hints"
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 416: "Range Not Satisfiable"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
