internal import CInflightCodings
public import InflightCore

/// The content codings gzip, deflate, Brotli and Zstandard.
///
/// - gzip (RFC 1952), including concatenated members. Trailing bytes that are not a member are ignored.
/// - deflate (RFC 1950), also without the zlib wrapper, as some servers send it (RFC 9110 section 8.4.1.2).
/// - br (RFC 7932).
/// - zstd (RFC 8878), with windows of up to 8 MiB (RFC 9659).
public enum ContentCodings {
    /// All codings, the preferred ones first.
    public static let standard: [any ContentCoding] = [
        LibraryCoding(names: ["gzip", "x-gzip"], kind: INFLIGHT_CODING_GZIP),
        LibraryCoding(names: ["deflate"], kind: INFLIGHT_CODING_DEFLATE),
        LibraryCoding(names: ["br"], kind: INFLIGHT_CODING_BROTLI),
        LibraryCoding(names: ["zstd"], kind: INFLIGHT_CODING_ZSTD),
    ]
}

private struct LibraryCoding: ContentCoding {
    let names: [String]
    let kind: Int

    init(names: [String], kind: some BinaryInteger) {
        self.names = names
        self.kind = Int(kind)
    }

    func makeDecoder() -> (any ContentDecoder)? {
        guard let decoding = unsafe inflight_decoding_open(Int32(kind)) else { return nil }
        return unsafe LibraryDecoder(decoding)
    }
}

// Safe: only this object uses and closes the library's handle.
@safe private final class LibraryDecoder: ContentDecoder {
    private static let roomBytes = 64 * 1024

    private let decoding: OpaquePointer
    private let room: UnsafeMutablePointer<UInt8>
    private var hasEnded = false
    private var hasBegun = false

    var isComplete: Bool { hasEnded }

    init(_ decoding: OpaquePointer) {
        unsafe self.decoding = decoding
        unsafe room = .allocate(capacity: Self.roomBytes)
    }

    deinit {
        unsafe inflight_decoding_close(decoding)
        unsafe room.deallocate()
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ContentCodingError) -> Int {
        var rest = unsafe bytes
        if unsafe !rest.isEmpty { hasBegun = true }
        while true {
            var taken = 0
            var given = 0
            let status = unsafe inflight_decoding_run(
                decoding, rest.baseAddress?.assumingMemoryBound(to: UInt8.self), rest.count, &taken, room,
                Self.roomBytes, &given)
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            hasEnded = status == INFLIGHT_CODING_END
            if given > 0, unsafe !body(UnsafeRawBufferPointer(start: room, count: given)) {
                return bytes.count - rest.count
            }
            switch Int(status) {
            case INFLIGHT_CODING_FULL: continue
            case INFLIGHT_CODING_MORE, INFLIGHT_CODING_END: return bytes.count
            case INFLIGHT_CODING_NO_MEMORY: throw .outOfMemory
            default: throw .damaged
            }
        }
    }

    func finish() throws(ContentCodingError) {
        // An empty body is valid, whatever `Content-Encoding` says.
        guard hasBegun else { return }
        if !hasEnded {
            _ = unsafe try decode(UnsafeRawBufferPointer(start: nil, count: 0)) { _ in true }
        }
        if !hasEnded { throw .truncated }
    }
}
