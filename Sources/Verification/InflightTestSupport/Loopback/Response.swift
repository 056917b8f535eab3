public import InflightCore

extension LoopbackServer {
    /// The response that the server sends, with the places at which it waits, stops or breaks. A value.
    ///
    /// ```swift
    /// .ok(image, type: "image/jpeg")                         // 200 with Content-Length
    /// .ok(image).chunked([100, 1]).field("ETag", "\"a\"")    // chunks of 100, 1, 100, 1, … bytes
    /// .ok(image).held("half", after: 500)                    // continues after server.release("half")
    /// .ok(image).reset(after: 700)                           // 700 bytes of the body, then a TCP reset
    /// .status(404), .redirect(to: "/b"), .silent, .closing, .raw("no HTTP")
    /// ```
    public struct Response: Sendable {
        /// The content after the head.
        public enum Body: Sendable {
            /// These bytes.
            case bytes(Bytes)
            /// These bytes, repeated until the peer closes. Must not be empty.
            case endless(Bytes)
        }

        /// The way in which the end of the body is marked.
        public enum Framing: Sendable, Hashable {
            /// `Content-Length` for bytes, ``untilClose`` for an endless body.
            case automatic
            /// A `Content-Length` of that value, right or wrong. If it is wrong, the connection is closed after the
            /// body.
            case contentLength(Int64)
            /// Chunks of these sizes, repeated; if empty, of 16 KiB.
            case chunked([Int])
            /// Neither length nor chunks. The end of the connection is the end of the body.
            case untilClose
            /// No head. Only the body's bytes are sent, and then the connection is closed.
            case raw
        }

        /// A place in a response.
        public enum Place: Sendable, Hashable {
            /// Before the first byte of the head, interim heads included.
            case head
            /// After the head and that many bytes of the body. Places after the body's end are never reached.
            case body(Int)
            /// After the body's last byte, before the end of its framing (the last chunk, or the connection's close).
            case end
        }

        /// An action at a place.
        public enum Action: Sendable, Hashable {
            /// Waits for ``LoopbackServer/release(_:)`` of that name; without a name, without end. If the peer closes
            /// meanwhile, the response ends.
            case hold(String)
            /// Waits for that time. Prefer a hold, which does not depend on timing.
            case delay(Duration)
            /// Breaks the connection with a TCP reset, after the peer's system has acknowledged the bytes sent so far.
            case reset
            /// Closes the connection with a TCP FIN and no TLS close_notify.
            case close
        }

        /// The status from 100 to 999. Other values are sent as they are.
        public var status: Int
        /// The reason phrase; if nil, the standard one for the status.
        public var reason: String?
        /// The fields, sent in this order, repeated ones too. Missing framing fields are added.
        public var fields = HTTPFields()
        /// Lines sent as they are after the fields, each followed by CR LF, for malformed heads.
        public var rawLines: [Bytes] = []
        /// The interim heads (1xx), sent before the head.
        public var interim: [ResponseHead] = []
        /// The content after the head. Except with ``Framing/raw``, it is not sent for `HEAD`, 1xx, 204 and 304.
        public var body: Body
        /// The way in which the end of the body is marked.
        public var framing = Framing.automatic
        /// The trailer fields, sent after the last chunk if the framing is chunked.
        public var trailers = HTTPFields()
        /// The actions in the order in which they were added. Several at one place run one after the other.
        public var actions: [(place: Place, action: Action)] = []
        /// Whether the connection is closed after the response, and `Connection: close` is sent.
        public var closesConnection = false

        /// Creates a response without fields, by default 200 with an empty body.
        public init(status: Int = 200, body: Body = .bytes(.empty)) {
            self.status = status
            self.body = body
        }
    }
}

// MARK: - Common responses

extension LoopbackServer.Response {
    /// Returns 200 with a body.
    ///
    /// - Parameters:
    ///   - body: the body.
    ///   - type: the value of `Content-Type`; if nil, the field is left out.
    public static func ok(_ body: Bytes, type: String? = nil) -> Self {
        var response = Self(body: .bytes(body))
        if let type { response.fields.append("Content-Type", type) }
        return response
    }

    /// Returns 200 with a body that never ends.
    ///
    /// - Parameter pattern: the bytes to repeat, at least one.
    public static func endless(_ pattern: Bytes = Bytes([UInt8](repeating: 0x2E, count: 4096))) -> Self {
        precondition(!pattern.isEmpty, "an endless body needs at least one byte to repeat")
        return Self(body: .endless(pattern))
    }

    /// Returns any status with a text body. 1xx, 204 and 304 have no body and no `Content-Length`.
    public static func status(_ status: Int, text: String = "") -> Self {
        Self(status: status, body: .bytes(Bytes(text)))
    }

    /// Returns a redirect to an absolute or relative reference.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status).field("Location", location)
    }

    /// Returns a response of these bytes alone, without a head. Then the connection is closed.
    public static func raw(_ bytes: Bytes) -> Self {
        var response = Self(body: .bytes(bytes))
        response.framing = .raw
        return response
    }

    /// Returns ``raw(_:)`` with text.
    public static func raw(_ text: String) -> Self { raw(Bytes(text)) }

    /// A response that never comes. It ends when the peer closes or the server stops.
    public static var silent: Self { Self().at(.head, .hold("")) }

    /// A close of the connection after the request, without a response.
    public static var closing: Self { Self().at(.head, .close) }

    /// A reset of the connection after the request, without a response.
    public static var resetting: Self { Self().at(.head, .reset) }
}

// MARK: - Modifiers

extension LoopbackServer.Response {
    /// Adds a field, and keeps others of the same name.
    public func field(_ name: String, _ value: String) -> Self {
        changed { $0.fields.append(name, value) }
    }

    /// Adds a line to the head that is sent as it is, malformed or not.
    public func rawLine(_ line: String) -> Self {
        changed { $0.rawLines.append(Bytes(line)) }
    }

    /// Adds an interim head before the head: 103 and others.
    public func interim(_ status: Int, _ fields: HTTPFields = HTTPFields()) -> Self {
        changed { $0.interim.append(ResponseHead(status: status, fields: fields)) }
    }

    /// Sends the body in chunks of these sizes, repeated.
    ///
    /// - Parameter sizes: the sizes in bytes, each above zero; if empty, 16 KiB each.
    public func chunked(_ sizes: [Int] = []) -> Self {
        precondition(sizes.allSatisfy { $0 > 0 }, "a chunk of no bytes would end the body")
        return changed { $0.framing = .chunked(sizes) }
    }

    /// Adds a trailer field after a chunked body.
    public func trailer(_ name: String, _ value: String) -> Self {
        changed { $0.trailers.append(name, value) }
    }

    /// Announces `count` bytes, whatever the body's length.
    public func claiming(contentLength count: Int64) -> Self {
        changed { $0.framing = .contentLength(count) }
    }

    /// Sends the body without a length, until the connection ends.
    public func untilClose() -> Self {
        changed { $0.framing = .untilClose }
    }

    /// Closes the connection after the response, and announces that in the head.
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

    /// Sends the body slowly: waits before each `count` bytes of it, which must be above zero. Prefer a hold. No effect
    /// on an endless body.
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
