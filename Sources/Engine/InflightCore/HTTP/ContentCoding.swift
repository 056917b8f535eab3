/// A way in which a body may be coded on its way (RFC 9110 section 8.4.1): how to undo it.
public protocol ContentCoding: Sendable {
    /// What it is called in `Accept-Encoding` and `Content-Encoding`, in lower case; other names of it after that.
    var names: [String] { get }

    /// What undoes the coding of one body. `nil` where there is no memory for it.
    func makeDecoder() -> (any ContentDecoder)?
}

/// Undoes the coding of one body, whose bytes come in pieces. Used on one thread at a time.
public protocol ContentDecoder: AnyObject {
    /// Takes `bytes`, and hands on what they decode to, in pieces that are valid for the length of the call. Memory does
    /// not grow with what comes out.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes; where an earlier call was stopped, those that it did not take, even if there are none.
    ///   - body: takes a piece, and answers whether to go on; if not, the call returns.
    /// - Returns: how many of `bytes` it took: all of them, unless it was stopped.
    @discardableResult
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Int

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

/// Undoes the codings of one body, one behind the other, in steps as long as whoever takes the result likes.
final class CodedBody {
    private struct Stage {
        let decoder: any ContentDecoder
        /// Stopped, with these bytes to go.
        var rest: Bytes?
    }

    private var stages: [Stage]

    /// - Parameter decoders: that of the last coding first.
    init(_ decoders: [any ContentDecoder]) {
        stages = decoders.map { Stage(decoder: $0) }
    }

    /// Whether a call was stopped: ``goOn(_:)`` comes before more bytes.
    var hasMore: Bool { stages.contains { $0.rest != nil } }

    /// Hands on what `bytes` decode to, until `body` answers that it wants no more for now.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) {
        precondition(!hasMore, "bytes came before all of the last was taken")
        _ = try unsafe decode(bytes, from: 0, body)
    }

    /// Goes on where a call was stopped.
    func goOn(_ body: (UnsafeRawBufferPointer) -> Bool) throws(ContentCodingError) {
        for index in stages.indices.reversed() {
            guard let rest = stages[index].rest else { continue }
            stages[index].rest = nil
            let isDone = try unsafe rest.withUnsafeBytes { rest throws(ContentCodingError) in
                try unsafe decode(rest, from: index, body)
            }
            if !isDone { return }
        }
    }

    /// As ``decode(_:_:)``, but whoever wants no more wants nothing at all.
    func decodeAll(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) {
        try unsafe decode(bytes, body)
        if hasMore { throw .stopped }
    }

    /// No more bytes come: each coding has to be whole.
    func finish() throws(ContentCodingError) {
        for stage in stages { try stage.decoder.finish() }
    }

    /// - Returns: whether all of it was taken.
    private func decode(
        _ bytes: UnsafeRawBufferPointer, from index: Int, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Bool {
        let isLast = index == stages.count - 1
        var failure: ContentCodingError?
        var isStopped = false
        let taken = try unsafe stages[index].decoder.decode(bytes) { piece in
            do throws(ContentCodingError) {
                isStopped = isLast ? unsafe !body(piece) : try unsafe !decode(piece, from: index + 1, body)
            } catch {
                failure = error
            }
            return !isStopped && failure == nil
        }
        if let failure { throw failure }
        if isStopped { stages[index].rest = unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: bytes[taken...])) }
        return !isStopped
    }
}
