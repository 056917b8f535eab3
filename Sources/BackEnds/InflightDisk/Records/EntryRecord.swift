internal import InflightCore

/// An index row's metadata of an entry, everything but its body, in a binary format of our own:
///
///     1 byte    version of the format: 1
///     text      key                                     (number = as few bytes as it needs; text = length, UTF-8)
///     number    when it was stored, in milliseconds     (signed)
///     text      method, URL
///     fields    selecting fields: their count, then name and value of each
///     number    status, in HTTP's range or any other that fits 16 bits
///     text      version of HTTP
///     fields    header fields of the response
///     number    time of the request, of the response    (signed, milliseconds)
///     number    first stored byte, number of stored bytes
///     number    0, or the complete length plus 1
///
/// Nothing may follow. All bytes are untrusted: before memory is allocated, each length is compared with the remaining
/// bytes, and each count with the maximum that could follow.
struct EntryRecord: Hashable {
    var key: StoreKey
    var stored: WallTime
    var response: StoredResponse

    /// The maximum size of a record in bytes. The header fields of one response are limited to 256 KiB by default.
    static let limit = 1 << 20

    private static let version: UInt8 = 1

    func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.text(key.text)
        writer.number(stored.milliseconds)
        writer.text(response.method)
        writer.text(response.url)
        Self.write(response.varyFields, to: &writer)
        writer.number(UInt64(UInt16(clamping: response.head.status)))
        writer.text(response.head.version.rawValue)
        Self.write(response.head.fields, to: &writer)
        writer.number(response.requestTime.milliseconds)
        writer.number(response.responseTime.milliseconds)
        writer.number(UInt64(response.bodyRange.lowerBound))
        writer.number(UInt64(response.bodyRange.count))
        writer.number(response.totalLength.map { UInt64($0) + 1 } ?? 0)
        return writer.bytes
    }

    init(key: StoreKey, stored: WallTime, response: StoredResponse) {
        self.key = key
        self.stored = stored
        self.response = response
    }

    /// Returns whether a record can represent the response: no negative lengths, and a status that fits.
    static func canHold(_ response: StoredResponse) -> Bool {
        response.bodyRange.lowerBound >= 0 && (response.totalLength ?? 0) >= 0
            && (response.totalLength ?? 0) < .max && UInt16(exactly: response.head.status) != nil
            && (response.totalLength.map { response.bodyRange.upperBound <= $0 } ?? true)
    }

    /// Returns the maximum size of the record in bytes, or nil if it is too long or cannot represent the response.
    static func size(key: StoreKey, _ response: StoredResponse) -> Int? {
        let size =
            key.text.utf8.count + response.method.utf8.count + response.url.utf8.count
            + response.varyFields.wireSize + response.head.fields.wireSize + 128
            + 8 * (response.varyFields.count + response.head.fields.count)
        return canHold(response) && size <= limit ? size : nil
    }

    init(_ bytes: [UInt8]) throws(ByteReader.Malformed) {
        guard bytes.count <= Self.limit else { throw ByteReader.Malformed() }
        var reader = ByteReader(bytes)
        guard try reader.byte() == Self.version else { throw ByteReader.Malformed() }
        key = StoreKey(try reader.text())
        stored = WallTime(milliseconds: try reader.signedNumber())
        let method = try reader.text()
        let url = try reader.text()
        let varyFields = try Self.fields(&reader)
        let status = try reader.number()
        guard let version = ResponseHead.Version(rawValue: try reader.text()), status <= UInt64(UInt16.max) else {
            throw ByteReader.Malformed()
        }
        let fields = try Self.fields(&reader)
        let requestTime = WallTime(milliseconds: try reader.signedNumber())
        let responseTime = WallTime(milliseconds: try reader.signedNumber())
        let range = try Self.range(&reader)
        let total = try reader.number()
        guard total <= UInt64(Int64.max), reader.isAtEnd else { throw ByteReader.Malformed() }
        response = StoredResponse(
            method: method, url: url, varyFields: varyFields,
            head: ResponseHead(status: Int(status), version: version, fields: fields), requestTime: requestTime,
            responseTime: responseTime, bodyRange: range, totalLength: total == 0 ? nil : Int64(total - 1))
        guard Self.canHold(response) else { throw ByteReader.Malformed() }
    }

    private static func write(_ fields: HTTPFields, to writer: inout ByteWriter) {
        writer.number(UInt64(fields.count))
        for index in 0..<fields.count {
            writer.run(fields.rawName(index))
            writer.run(fields.rawValue(index))
        }
    }

    private static func fields(_ reader: inout ByteReader) throws(ByteReader.Malformed) -> HTTPFields {
        let count = try reader.number()
        // A field takes at least two bytes.
        guard count <= UInt64(reader.left / 2) else { throw ByteReader.Malformed() }
        var fields = HTTPFields()
        fields.reserve(bytes: min(reader.left, 4096), lines: Int(min(count, 64)))
        for _ in 0..<count {
            let (name, value) = (try reader.run(), try reader.run())
            unsafe name.withUnsafeBufferPointer { name in
                unsafe value.withUnsafeBufferPointer { unsafe fields.append(rawName: name, rawValue: $0) }
            }
        }
        return fields
    }

    private static func range(_ reader: inout ByteReader) throws(ByteReader.Malformed) -> Range<Int64> {
        guard let first = Int64(exactly: try reader.number()), let count = Int64(exactly: try reader.number()) else {
            throw ByteReader.Malformed()
        }
        let (end, overflows) = first.addingReportingOverflow(count)
        guard !overflows else { throw ByteReader.Malformed() }
        return first..<end
    }
}
