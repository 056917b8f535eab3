package import InflightCore

extension StoredResponse {
    /// Returns a response with some fields, by default a 200. If `total` is nil, its length is the end of `bytes`.
    package static func example(
        _ url: String, bytes: Range<Int64>, total: Int64? = nil, fields: [(name: String, value: String)] = [],
        status: Int = 200
    ) -> StoredResponse {
        StoredResponse(
            method: "GET", url: url, varyFields: HTTPFields([(name: "Accept", value: "image/*")]),
            head: ResponseHead(
                status: status,
                fields: HTTPFields(
                    [(name: "Content-Type", value: "image/jpeg"), (name: "ETag", value: "\"1\"")] + fields)),
            requestTime: WallTime(milliseconds: 1_700_000_000_000),
            responseTime: WallTime(milliseconds: 1_700_000_000_123), bodyRange: bytes,
            totalLength: total ?? bytes.upperBound)
    }

    /// Returns a response with the whole of `body`.
    package static func example(_ url: String, body: Bytes) -> StoredResponse {
        example(url, bytes: 0..<Int64(body.count))
    }
}

extension Bytes {
    /// Returns bytes that only this seed generates.
    package static func random(_ count: Int, seed: UInt64) -> Bytes {
        var generator = SeededGenerator(seed: seed)
        // A plain loop, because tests generate megabytes, and a debug build takes many times as long for `map`.
        var words: [UInt64] = []
        words.reserveCapacity((count + 7) / 8)
        while words.count * 8 < count { words.append(generator.next()) }
        return unsafe words.withUnsafeBytes { unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
}
