public import InflightCore

extension LoopbackServer {
    /// What the server answers, and where on the way it waits, stops or breaks: a value.
    ///
    /// ```swift
    /// .ok(picture, type: "image/jpeg")                         // 200 with Content-Length
    /// .ok(picture).chunked([100, 1]).field("ETag", "\"a\"")    // chunks of 100, 1, 100, 1, … bytes
    /// .ok(picture).held("half", after: 500)                    // goes on after server.release("half")
    /// .ok(picture).reset(after: 700)                           // 700 bytes of the body, then a TCP reset
    /// .status(404), .redirect(to: "/b"), .silent, .closing, .raw("no HTTP")
    /// ```
    public struct Response: Sendable {
        /// What stands behind the head.
        public enum Body: Sendable {
            case bytes(Bytes)
            /// These bytes again and again, until the peer has had enough. Must not be empty.
            case endless(Bytes)
        }

        /// How the end of the body is told.
        public enum Framing: Sendable, Hashable {
            /// `Content-Length` for bytes, ``untilClose`` for an endless body.
            case automatic
            /// A `Content-Length` of that value, right or wrong. Where it is wrong the connection is closed after the
            /// body.
            case contentLength(Int64)
            /// Chunks of these sizes, over and over; without sizes, of 16 KiB.
            case chunked([Int])
            /// Neither length nor chunks: the connection's end is the body's.
            case untilClose
            /// No head at all: the body's bytes are all that is sent, then the connection is closed.
            case raw
        }

        /// A place in an answer.
        public enum Place: Sendable, Hashable {
            /// Before the first byte of the head, interim heads included.
            case head
            /// After the head and that many bytes of the body; places behind the body's end are never reached.
            case body(Int)
            /// After the body's last byte, before what the framing ends with (the last chunk, the connection's close).
            case end
        }

        /// What happens at a place.
        public enum Action: Sendable, Hashable {
            /// Waits for ``LoopbackServer/release(_:)`` of that name; for ever without one. If the peer closes
            /// meanwhile, the answer ends.
            case hold(String)
            /// Waits for that time. Prefer a hold: it has no time to go wrong.
            case delay(Duration)
            /// Breaks the connection with a TCP reset, after the peer's system has acknowledged what was sent.
            case reset
            /// Closes the connection, with a TCP end and no TLS farewell.
            case close
        }

        /// 100 … 999; others are sent as they are.
        public var status: Int
        /// `nil`: the usual words for the status.
        public var reason: String?
        /// Sent in this order, doubled ones too. Framing fields are added where they are not here already.
        public var fields = HTTPFields()
        /// Sent as they are behind the fields, each followed by CR LF: for malformed heads.
        public var rawLines: [Bytes] = []
        /// Sent before the head: heads of 1xx.
        public var interim: [ResponseHead] = []
        public var body: Body
        public var framing = Framing.automatic
        /// Sent behind the last chunk, where the framing is chunked.
        public var trailers = HTTPFields()
        /// In the order in which they were added; those at one place happen one after the other.
        public var actions: [(place: Place, action: Action)] = []
        /// Whether the connection is closed after the answer, with a `Connection: close` that says so.
        public var closesConnection = false

        public init(status: Int = 200, body: Body = .bytes(.empty)) {
            self.status = status
            self.body = body
        }
    }
}

// MARK: - Usual answers

extension LoopbackServer.Response {
    /// 200 with a body.
    public static func ok(_ body: Bytes, type: String? = nil) -> Self {
        var response = Self(body: .bytes(body))
        if let type { response.fields.append("Content-Type", type) }
        return response
    }

    /// 200 with a body that never ends.
    public static func endless(_ pattern: Bytes = Bytes([UInt8](repeating: 0x2E, count: 4096))) -> Self {
        precondition(!pattern.isEmpty, "an endless body needs at least one byte to repeat")
        return Self(body: .endless(pattern))
    }

    /// Any status, with a body of text. 1xx, 204 and 304 have no body and no `Content-Length`.
    public static func status(_ status: Int, text: String = "") -> Self {
        Self(status: status, body: .bytes(Bytes(text)))
    }

    /// A redirect to an absolute or relative reference.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status).field("Location", location)
    }

    /// Bytes instead of HTTP; then the connection is closed.
    public static func raw(_ bytes: Bytes) -> Self {
        var response = Self(body: .bytes(bytes))
        response.framing = .raw
        return response
    }

    /// ``raw(_:)`` with text.
    public static func raw(_ text: String) -> Self { raw(Bytes(text)) }

    /// Reads the request and never says anything. Ends when the peer closes or the server stops.
    public static var silent: Self { Self().at(.head, .hold("")) }

    /// Reads the request and closes the connection without an answer.
    public static var closing: Self { Self().at(.head, .close) }

    /// Reads the request and resets the connection without an answer.
    public static var resetting: Self { Self().at(.head, .reset) }
}

// MARK: - Changes

extension LoopbackServer.Response {
    /// Adds a field; one of the same name stays.
    public func field(_ name: String, _ value: String) -> Self {
        changed { $0.fields.append(name, value) }
    }

    /// Adds a line of the head that is sent as it is, broken or not.
    public func rawLine(_ line: String) -> Self {
        changed { $0.rawLines.append(Bytes(line)) }
    }

    /// Adds an interim head before the head: 103 and others.
    public func interim(_ status: Int, _ fields: HTTPFields = HTTPFields()) -> Self {
        changed { $0.interim.append(ResponseHead(status: status, fields: fields)) }
    }

    /// Sends the body in chunks of these sizes, over and over.
    public func chunked(_ sizes: [Int] = []) -> Self {
        precondition(sizes.allSatisfy { $0 > 0 }, "a chunk of no bytes would end the body")
        return changed { $0.framing = .chunked(sizes) }
    }

    /// Adds a trailer field, which a chunked body ends with.
    public func trailer(_ name: String, _ value: String) -> Self {
        changed { $0.trailers.append(name, value) }
    }

    /// Announces `count` bytes, whatever the body has.
    public func claiming(contentLength count: Int64) -> Self {
        changed { $0.framing = .contentLength(count) }
    }

    /// Sends the body without a length, up to the connection's end.
    public func untilClose() -> Self {
        changed { $0.framing = .untilClose }
    }

    /// Closes the connection after the answer, and says so in the head.
    public func thenClose() -> Self {
        changed { $0.closesConnection = true }
    }

    /// Waits before the head until ``LoopbackServer/release(_:)`` of that name.
    public func held(_ name: String) -> Self { at(.head, .hold(name)) }

    /// Waits after the head and `count` bytes of the body until ``LoopbackServer/release(_:)`` of that name.
    public func held(_ name: String, after count: Int) -> Self { at(.body(count), .hold(name)) }

    /// Resets the connection after the head and `count` bytes of the body.
    public func reset(after count: Int) -> Self { at(.body(count), .reset) }

    /// Closes the connection after the head and `count` bytes of the body.
    public func truncated(after count: Int) -> Self { at(.body(count), .close) }

    /// Waits before the head. Prefer a hold.
    public func delayed(_ time: Duration) -> Self { at(.head, .delay(time)) }

    /// Sends the body slowly: waits before each `count` bytes of it. Prefer a hold.
    public func dripping(_ count: Int, every time: Duration) -> Self {
        precondition(count > 0, "a body cannot go on by no bytes at a time")
        guard case .bytes(let bytes) = body else { return self }
        return stride(from: 0, to: bytes.count, by: count).reduce(self) { $0.at(.body($1), .delay(time)) }
    }

    /// Adds an action at a place.
    public func at(_ place: Place, _ action: Action) -> Self {
        changed { $0.actions.append((place, action)) }
    }

    private func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
