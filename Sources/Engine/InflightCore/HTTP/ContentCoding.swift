/// A content coding, such as gzip (RFC 9110 section 8.4.1), with its decoder.
public protocol ContentCoding: Sendable {
    /// The name in `Accept-Encoding` and `Content-Encoding`, in lower case, followed by its aliases.
    var names: [String] { get }

    /// Returns a decoder for one body; `nil` if there is no memory for it.
    func makeDecoder() -> (any ContentDecoder)?
}

/// A decoder of the content coding of one body, whose bytes arrive in pieces. Used on one thread at a time.
public protocol ContentDecoder: AnyObject {
    /// Decodes `bytes`, and passes the result on in pieces that are valid for the length of the call. The memory used
    /// does not grow with the size of the result.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes; if an earlier call was stopped, those that it did not consume, perhaps none.
    ///   - body: takes a piece, and returns whether to continue; if not, the call returns.
    /// - Returns: the number of `bytes` consumed: all of them, unless the call was stopped.
    /// - Throws: an error if the coded data is malformed, or if there is no memory.
    @discardableResult
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Int

    /// Whether the coded data is complete, so that no more bytes are needed. If the decoder cannot tell: `false`, the
    /// default.
    var isComplete: Bool { get }

    /// Ends the body: no more bytes follow. Throws ``ContentCodingError/truncated`` if the coded data is incomplete.
    func finish() throws(ContentCodingError)
}

extension ContentDecoder {
    public var isComplete: Bool { false }
}

/// The reason why a body cannot be decoded.
public enum ContentCodingError: Error, Hashable, Sendable {
    /// The coded data is malformed.
    case damaged
    /// The bytes end before the coded data does.
    case truncated
    /// There is no memory for the decoder's work.
    case outOfMemory
    /// The receiver of the decoded bytes stopped the decoder.
    case stopped
}

/// The content codings that a pipeline decodes.
struct AcceptedCodings: Sendable {
    /// The maximum number of codings of one body. A body with more is treated as an attack.
    private static let maximumDepth = 4

    private let codings: [any ContentCoding]
    /// The value of `Accept-Encoding`; `nil` if there are no codings.
    let accepted: String?

    init(_ codings: [any ContentCoding]) {
        self.codings = codings
        accepted = codings.isEmpty ? nil : codings.compactMap(\.names.first).joined(separator: ", ")
    }

    enum DecoderChain {
        /// The body is used as it is.
        case plain
        case coded([any ContentDecoder])
        case tooMany(limit: Int)
        case outOfMemory
    }

    /// Returns how to decode a body with these header fields: the last coding first (RFC 9110 section 8.4).
    ///
    /// Names that denote no coding are skipped. Decoding stops at any other unknown name, because only its coding leads
    /// to the ones before it. The body is used as it is then, as in browsers: servers put all kinds of names there.
    func decoderChain(for fields: HTTPFields) -> DecoderChain {
        let chain = undone(fields)
        if chain.isEmpty { return .plain }
        guard chain.count <= Self.maximumDepth else { return .tooMany(limit: Self.maximumDepth) }
        var decoders: [any ContentDecoder] = []
        for coding in chain {
            guard let decoder = coding.makeDecoder() else { return .outOfMemory }
            decoders.append(decoder)
        }
        return .coded(decoders)
    }

    /// Returns whether a body with these header fields is decoded.
    func isCoded(_ fields: HTTPFields) -> Bool { !undone(fields).isEmpty }

    /// Returns the codings to undo, in this order.
    private func undone(_ fields: HTTPFields) -> [any ContentCoding] {
        guard fields.contains("content-encoding") else { return [] }
        var chain: [any ContentCoding] = []
        for name in fields.rawValues("content-encoding").flatMap(FieldScanner.names).reversed()
        where !Self.isNoCoding(name) {
            guard let coding = codings.first(where: { $0.names.contains(name) }) else { break }
            chain.append(coding)
        }
        return chain
    }

    /// Returns whether a name (in lower case) denotes no coding of the body: `identity`, `none`, the framing of uploads
    /// to object stores, or a charset.
    private static func isNoCoding(_ name: String) -> Bool {
        ["identity", "none", "aws-chunked"].contains(name) || charsets.contains { name.hasPrefix($0) }
    }

    /// The beginnings of the names of charsets, as in `Content-Type`.
    private static let charsets = [
        "utf-", "utf8", "us-ascii", "ascii", "iso-8859", "iso8859", "latin", "windows-", "cp125", "koi8-", "macintosh",
        "x-mac-", "big5", "gb2312", "gbk", "gb18030", "euc-", "iso-2022-", "shift_jis", "shift-jis", "sjis",
    ]
}

/// Decodes the content codings of one body, one after the other, in steps whose size the receiver decides.
final class CodedBody {
    private struct Stage {
        let decoder: any ContentDecoder
        /// The number of bytes passed to the next stage.
        var passedBytes: Int64 = 0
        /// The bytes left to decode, if the decoder was stopped.
        var rest: Bytes?
    }

    private var stages: [Stage]
    private let limit: Int64

    /// - Parameters:
    ///   - decoders: the decoder of the last coding first.
    ///   - limit: the maximum number of bytes between two decoders. Otherwise, bytes that a later one drops would cost
    ///     time without a bound.
    init(_ decoders: [any ContentDecoder], limit: Int64) {
        stages = decoders.map { Stage(decoder: $0) }
        self.limit = limit
    }

    /// Whether a call was stopped. If so, ``resume(_:)`` has to be called before more bytes are decoded.
    var hasMore: Bool { stages.contains { $0.rest != nil } }

    /// Whether all codings are complete, and all their output was passed on.
    var isComplete: Bool { stages.allSatisfy { $0.rest == nil && $0.decoder.isComplete } }

    /// Decodes `bytes` and passes the result on, until `body` returns `false`.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) {
        precondition(!hasMore, "input was added before the previous output was consumed")
        _ = try unsafe decode(bytes, from: 0, body)
    }

    /// Continues a call that was stopped.
    func resume(_ body: (UnsafeRawBufferPointer) -> Bool) throws(ContentCodingError) {
        for index in stages.indices.reversed() {
            guard let rest = stages[index].rest else { continue }
            stages[index].rest = nil
            let isDone = try unsafe rest.withUnsafeBytes { rest throws(ContentCodingError) in
                try unsafe decode(rest, from: index, body)
            }
            if !isDone { return }
        }
    }

    /// No more bytes follow. Throws if a coding is incomplete.
    func finish() throws(ContentCodingError) {
        for stage in stages { try stage.decoder.finish() }
    }

    /// - Returns: whether all bytes were consumed.
    private func pass(
        _ bytes: UnsafeRawBufferPointer, from index: Int, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Bool {
        guard Int64(bytes.count) <= limit - stages[index].passedBytes else { throw .stopped }
        stages[index].passedBytes += Int64(bytes.count)
        return try unsafe decode(bytes, from: index + 1, body)
    }

    /// - Returns: whether all bytes were consumed.
    private func decode(
        _ bytes: UnsafeRawBufferPointer, from index: Int, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Bool {
        let isLast = index == stages.count - 1
        var failure: ContentCodingError?
        var isStopped = false
        let taken = try unsafe stages[index].decoder.decode(bytes) { piece in
            do throws(ContentCodingError) {
                isStopped = isLast ? unsafe !body(piece) : try unsafe !pass(piece, from: index, body)
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
