/// A way in which a body may be coded on its way (RFC 9110 section 8.4.1): how to undo it.
public protocol ContentCoding: Sendable {
    /// What it is called in `Accept-Encoding` and `Content-Encoding`, in lower case; other names of it after that.
    var names: [String] { get }

    /// What undoes the coding of one body. `nil` where there is no memory for it.
    func makeDecoder() -> (any ContentDecoder)?
}

/// Undoes the coding of one body, whose bytes come in pieces. Used on one thread at a time.
public protocol ContentDecoder: AnyObject {
    /// Takes all of `bytes`, and hands on what they decode to, in pieces that are valid for the length of the call.
    /// Memory does not grow with what comes out.
    ///
    /// - Parameter body: answers whether to go on.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError)

    /// No more bytes come.
    func finish() throws(ContentCodingError)
}

/// Why a coding cannot be undone.
public enum ContentCodingError: Error, Hashable, Sendable {
    case damaged
    /// The bytes end before what they code does.
    case truncated
    case outOfMemory
    /// Whoever took what came out wanted no more.
    case stopped
}

/// The codings that a pipeline undoes.
struct AcceptedCodings: Sendable {
    /// More codings over each other than this are an attack.
    private static let maximumDepth = 4

    private let codings: [any ContentCoding]
    /// What is sent as `Accept-Encoding`; `nil` where nothing can be undone.
    let accepted: String?

    init(_ codings: [any ContentCoding]) {
        self.codings = codings
        accepted = codings.isEmpty ? nil : codings.compactMap(\.names.first).joined(separator: ", ")
    }

    enum Way {
        /// The bytes are as they were made.
        case plain
        /// A coding of these cannot be undone: the bytes are passed on as they are.
        case unknown(String)
        case coded([any ContentDecoder])
        case outOfMemory
    }

    /// How to undo what the fields say was done to the body: the last coding first (RFC 9110 section 8.4).
    func way(of fields: HTTPFields) -> Way {
        guard fields.contains("content-encoding") else { return .plain }
        let names = fields.values("content-encoding").flatMap { $0.split(separator: ",") }
            .map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        if names.isEmpty { return .plain }
        guard names.count <= Self.maximumDepth else { return .unknown("\(names.count) codings over each other") }
        var decoders: [any ContentDecoder] = []
        for name in names.reversed() {
            guard let coding = codings.first(where: { $0.names.contains(name) }) else { return .unknown(name) }
            guard let decoder = coding.makeDecoder() else { return .outOfMemory }
            decoders.append(decoder)
        }
        return .coded(decoders)
    }
}

/// Undoes the codings of one body, one behind the other.
struct CodedBody {
    private let decoders: [any ContentDecoder]

    /// - Parameter decoders: that of the last coding first.
    init(_ decoders: [any ContentDecoder]) {
        self.decoders = decoders
    }

    /// Hands on what `bytes` decode to; `body` answers whether to go on.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) {
        try unsafe decode(bytes, through: decoders[...], body)
    }

    /// No more bytes come: each coding has to be whole.
    func finish() throws(ContentCodingError) {
        for decoder in decoders { try decoder.finish() }
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer, through decoders: ArraySlice<any ContentDecoder>,
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) {
        guard let first = decoders.first else {
            if unsafe !body(bytes) { throw .stopped }
            return
        }
        if decoders.count == 1 { return try unsafe first.decode(bytes, body) }
        var failure: ContentCodingError?
        do throws(ContentCodingError) {
            try unsafe first.decode(bytes) { piece in
                do throws(ContentCodingError) {
                    try unsafe decode(piece, through: decoders.dropFirst(), body)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw failure ?? error
        }
    }
}
