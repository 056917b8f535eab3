public import InflightCore

extension ScriptedTransport {
    /// The course of one exchange, step by step. A value.
    ///
    /// ```swift
    /// .ok(image, chunks: [100, 50])                        // head, 100 bytes, 50, 100, …, the end
    /// .ok(image).stalled("half", after: 500)               // continues after transport.release("half")
    /// .status(304), .partial(rest, from: 500, of: 900), .failure(.cannotConnect)
    /// ```
    public struct Script: Sendable {
        /// One step of an exchange.
        public enum Step: Sendable {
            /// An interim head (1xx).
            case interim(ResponseHead)
            /// The final head, and the length of the body on the wire in bytes; nil if it is not announced.
            case head(ResponseHead, expectedBytes: Int64?)
            /// One piece of the body. The transport counts the offsets.
            case bytes(Bytes)
            /// The trailer fields after the body.
            case trailers(HTTPFields)
            /// Stops until ``ScriptedTransport/release(_:)`` of that name.
            case stall(String)
            /// Waits for the connection until ``ScriptedTransport/release(_:)`` of that name.
            case connection(String)
            /// Ends the exchange with this error.
            case fail(LoadError)
        }

        /// The steps. After the last one the exchange ends successfully, unless that was a failure.
        public var steps: [Step]
        /// Whether the summary reports a reused connection.
        public var reusesConnection = false

        /// Creates a script of these steps. Without steps, the exchange succeeds at once, without a head.
        public init(_ steps: [Step] = []) {
            self.steps = steps
        }
    }
}

extension ScriptedTransport.Script {
    /// Returns a script with a head and a body.
    ///
    /// - Parameters:
    ///   - head: the final head.
    ///   - body: the complete body.
    ///   - chunks: the sizes of the body's pieces in bytes, repeated, each above zero; if empty, the body is one piece.
    ///   - tellsLength: whether the length of the body is announced.
    public static func response(
        _ head: ResponseHead, _ body: Bytes = .empty, chunks: [Int] = [], tellsLength: Bool = true
    ) -> Self {
        precondition(chunks.allSatisfy { $0 > 0 }, "a chunk of no bytes is none")
        var steps: [Step] = [.head(head, expectedBytes: tellsLength ? Int64(body.count) : nil)]
        if chunks.isEmpty {
            if !body.isEmpty { steps.append(.bytes(body)) }
            return Self(steps)
        }
        var position = 0
        var index = 0
        while position < body.count {
            let end = min(body.count, position + chunks[index % chunks.count])
            steps.append(.bytes(piece(of: body, position..<end)))
            position = end
            index += 1
        }
        return Self(steps)
    }

    /// Returns a script with 200 and a body.
    ///
    /// - Parameters:
    ///   - body: the body.
    ///   - chunks: the sizes of the body's pieces in bytes, repeated; if empty, the body is one piece.
    ///   - fields: the header fields.
    ///   - tellsLength: whether the length of the body is announced.
    public static func ok(
        _ body: Bytes, chunks: [Int] = [], fields: HTTPFields = HTTPFields(), tellsLength: Bool = true
    ) -> Self {
        response(ResponseHead(status: 200, fields: fields), body, chunks: chunks, tellsLength: tellsLength)
    }

    /// Returns a script with any status; for 304, 404, 429 with `Retry-After`, and others.
    public static func status(_ status: Int, _ fields: HTTPFields = HTTPFields(), body: Bytes = .empty) -> Self {
        response(ResponseHead(status: status, fields: fields), body)
    }

    /// Returns a script with 206 and the rest of a body of `total` bytes, from byte `first` on. Adds `Content-Range`.
    public static func partial(_ rest: Bytes, from first: Int, of total: Int, fields: HTTPFields = HTTPFields()) -> Self
    {
        var fields = fields
        fields.append("Content-Range", "bytes \(first)-\(first + rest.count - 1)/\(total)")
        return response(ResponseHead(status: 206, fields: fields), rest)
    }

    /// Returns a script with a redirect to `location`, by default 302.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        self.status(status, HTTPFields([("Location", location)]))
    }

    /// Returns a script that fails without a response.
    public static func failure(_ code: LoadError.Code, _ message: String = "The script wants it so.") -> Self {
        Self([.fail(LoadError(code, stage: .fetch, message: message))])
    }

    /// An exchange that never makes progress.
    public static var silent: Self { Self([.stall("")]) }

    /// Adds trailer fields after the body.
    public func trailed(by trailers: HTTPFields) -> Self {
        Self(steps: steps + [.trailers(trailers)], reusesConnection: reusesConnection)
    }

    /// Stalls before the first step until ``ScriptedTransport/release(_:)`` of that name.
    public func stalled(_ name: String) -> Self {
        Self(steps: [.stall(name)] + steps, reusesConnection: reusesConnection)
    }

    /// Waits for a connection before the first step, until ``ScriptedTransport/release(_:)`` of that name. It differs
    /// from ``stalled(_:)`` in the timeout that counts.
    public func connecting(_ name: String) -> Self {
        Self(steps: [.connection(name)] + steps, reusesConnection: reusesConnection)
    }

    /// Stalls after the head and `count` bytes of the body until ``ScriptedTransport/release(_:)`` of that name. A
    /// piece that contains this position is split in two. If the body is not longer than that, it stalls before the
    /// end.
    public func stalled(_ name: String, after count: Int) -> Self { inserting(.stall(name), after: count) }

    /// Fails after the head and `count` bytes of the body. The rest is dropped.
    public func failing(_ code: LoadError.Code, after count: Int) -> Self {
        let error = LoadError(code, stage: .fetch, message: "The script wants it so.")
        var script = inserting(.fail(error), after: count)
        if let end = script.steps.firstIndex(where: { if case .fail = $0 { true } else { false } }) {
            script.steps.removeSubrange((end + 1)...)
        }
        return script
    }

    private init(steps: [Step], reusesConnection: Bool) {
        self.steps = steps
        self.reusesConnection = reusesConnection
    }

    private func inserting(_ step: Step, after count: Int) -> Self {
        var result: [Step] = []
        var position = 0
        var isInserted = false
        for existing in steps {
            guard !isInserted, case .bytes(let bytes) = existing, position + bytes.count > count else {
                if case .bytes(let bytes) = existing { position += bytes.count }
                result.append(existing)
                continue
            }
            let before = count - position
            if before > 0 { result.append(.bytes(Self.piece(of: bytes, 0..<before))) }
            result.append(step)
            result.append(.bytes(Self.piece(of: bytes, before..<bytes.count)))
            isInserted = true
        }
        if !isInserted { result.append(step) }
        return Self(steps: result, reusesConnection: reusesConnection)
    }

    private static func piece(of bytes: Bytes, _ range: Range<Int>) -> Bytes {
        unsafe bytes.withUnsafeBytes { unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
