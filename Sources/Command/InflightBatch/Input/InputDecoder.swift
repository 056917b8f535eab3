internal import InflightCodings
internal import InflightCore

/// Decodes the bytes of one input, if their beginning shows that they are compressed.
///
/// Without I/O. Members of gzip and frames of zstd may follow one another. Bytes after the last gzip member that are
/// not a member are padding, and ignored. A decoded piece has at most 64 KiB, however much the input is compressed.
struct InputDecoder {
    private enum State {
        /// The first bytes are missing.
        case detecting
        case plain
        case compressed(InputFormat.Compression, any ContentDecoder)
    }

    /// Whether no more bytes will follow.
    private(set) var isAtEnd = false
    private var state = State.detecting
    /// The bytes that were appended and not consumed.
    private var pending: ArraySlice<UInt8> = []
    /// Whether the decoder may hold output of bytes that it has consumed.
    private var mayHoldOutput = false

    /// The number of bytes that were appended and are not decoded yet.
    var pendingCount: Int { pending.count }

    /// Appends bytes that were read. Take all pieces with ``next()`` before appending more.
    mutating func append(_ chunk: ArraySlice<UInt8>) {
        if pending.isEmpty {
            pending = chunk
        } else {
            pending += chunk
        }
    }

    /// Records that no more bytes will follow.
    mutating func end() {
        isAtEnd = true
    }

    /// Returns the next bytes without compression, or `nil` if more bytes have to be appended first or the input has
    /// ended.
    ///
    /// - Throws: ``InputError`` if the compressed data is corrupt or truncated.
    mutating func next() throws(InputError) -> ArraySlice<UInt8>? {
        try detect()
        switch state {
        case .detecting: return nil
        case .plain:
            // An empty slice would retain the bytes, and the next read would copy them.
            defer { pending = [] }
            return pending.isEmpty ? nil : pending
        case .compressed(let compression, let decoder):
            do throws(ContentCodingError) {
                while mayHoldOutput || !pending.isEmpty {
                    if let piece = try decode(decoder) { return piece }
                }
                if isAtEnd { try decoder.finish() }
                return nil
            } catch {
                switch error {
                case .truncated: throw .truncated(compression)
                case .outOfMemory: throw .outOfMemory
                case .damaged, .stopped: throw .corrupt(compression)
                }
            }
        }
    }

    private mutating func detect() throws(InputError) {
        guard case .detecting = state, isAtEnd || pending.count >= InputFormat.Compression.signatureLength else {
            return
        }
        guard let compression = InputFormat.Compression.detected(start: pending) else {
            state = .plain
            return
        }
        let coding = ContentCodings.standard.first { $0.names.contains(compression.rawValue) }
        guard let decoder = coding?.makeDecoder() else { throw .outOfMemory }
        state = .compressed(compression, decoder)
    }

    private mutating func decode(_ decoder: any ContentDecoder) throws(ContentCodingError) -> ArraySlice<UInt8>? {
        var piece: [UInt8] = []
        let consumed = try unsafe pending.span.withUnsafeBytes { bytes throws(ContentCodingError) in
            try unsafe decoder.decode(bytes) { output in
                unsafe piece.append(contentsOf: output)
                return false
            }
        }
        pending = consumed < pending.count ? pending.dropFirst(consumed) : []
        mayHoldOutput = !piece.isEmpty
        return piece.isEmpty ? nil : piece[...]
    }
}
