public import InflightConcurrency

/// A transport for `data:` URLs, which contain their bytes (RFC 2397).
///
/// The response has status 200, no version, `Content-Type` and `Content-Length`. Base64 may be percent-encoded, may
/// lack its padding, and may use the alphabet for URLs (RFC 4648 section 5). A URL without a comma, or with invalid
/// base64, fails with ``LoadError/Code/invalidURL``. The length is compared with the limit before decoding.
///
/// Receivers are called on a thread of the transport, which starts when it is needed.
public final class DataURLTransport: Transport {
    private let exchanges: LocalExchanges

    /// Creates a transport. Its thread starts with the first exchange.
    ///
    /// - Parameter clock: the clock for the total time; that of the pipeline's configuration, if it has another one.
    public init(clock: any EngineClock = SystemClock()) {
        exchanges = LocalExchanges(threads: 1, name: "inflight-data", clock: clock)
    }

    public var schemes: Set<String> { ["data"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver) { request throws(LoadError) in try DataURLReader(request) }
    }

    /// Ends exchanges in flight with ``LoadError/Code/shutDown``, and releases the thread.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}

/// A reader of the decoded bytes of a `data:` URL.
final class DataURLReader: LocalReader {
    let head: ResponseHead
    let length: Int64?
    private let bytes: [UInt8]
    private var position = 0

    init(_ request: TransportRequest) throws(LoadError) {
        let text = request.url.path
        guard let comma = text.utf8.firstIndex(of: UInt8(ascii: ",")) else {
            throw .local(
                .invalidURL, request, "The data: URL has no comma and no data. Use data:TYPE;base64,DATA.")
        }
        var type = PercentEncoding.decoded(text[..<comma])
        let data = text[text.utf8.index(after: comma)...]
        let isBase64 = Self.takeMarker(from: &type)
        let limit = request.limits.maximumBodyBytes
        let count = isBase64 ? Base64.leastDecodedCount(data) : PercentEncoding.decodedCount(data)
        if Int64(count) > limit {
            throw .local(
                .tooLarge, request,
                "The data exceeds the limit of \(limit) bytes. Raise maximumBodyBytes.")
        }
        if isBase64 {
            guard let decoded = Base64.decoded(PercentEncoding.decodedBytes(data)) else {
                throw .local(.invalidURL, request, "The data: URL is not valid Base64. Encode it again.")
            }
            bytes = decoded
        } else {
            bytes = PercentEncoding.decodedBytes(data)
        }
        length = Int64(bytes.count)
        var fields = HTTPFields()
        fields.append("Content-Type", Self.isPrintable(type) && !type.isEmpty ? type : "text/plain;charset=US-ASCII")
        fields.append("Content-Length", String(bytes.count))
        head = ResponseHead(status: 200, version: .none, fields: fields)
    }

    func read(into room: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int {
        let count = min(room.count, bytes.count - position)
        guard count > 0 else { return 0 }
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]))
        }
        position += count
        return count
    }

    /// Removes `;base64` from the end of a media type. Returns whether it was there.
    private static func takeMarker(from type: inout String) -> Bool {
        guard let semicolon = type.lastIndex(of: ";") else { return false }
        let last = type[type.index(after: semicolon)...]
        guard last.drop(while: { $0 == " " }).lowercased() == "base64" else { return false }
        type = String(type[..<semicolon])
        return true
    }

    private static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }
}

extension PercentEncoding {
    /// Returns the number of bytes that ``decodedBytes(_:)`` would return, without decoding them.
    static func decodedCount(_ text: Substring) -> Int {
        var count = 0
        var skipped = 0
        var digits = 0
        for byte in text.utf8 {
            count += 1
            if byte == UInt8(ascii: "%") {
                digits = 2
            } else if digits > 0 {
                let isDigit = Hexadecimal.value(byte) != nil
                digits = isDigit ? digits - 1 : 0
                if digits == 0, isDigit { skipped += 2 }
            }
        }
        return count - skipped
    }
}

extension Base64 {
    /// Returns the minimum number of bytes that `text` decodes to, after percent-decoding, without allocating memory.
    static func leastDecodedCount(_ text: Substring) -> Int {
        // Percent-encoded characters may be padding or white space, so they do not count.
        let unused = text.utf8.count { isIgnored($0) || $0 == pad }
        let encoded = text.utf8.count { $0 == UInt8(ascii: "%") }
        return max(0, PercentEncoding.decodedCount(text) - unused - encoded) / 4 * 3
    }
}
