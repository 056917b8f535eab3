@testable import InflightCore

extension Target {
    private static let limit: Int64 = 512

    /// What follows `data:`, and percent-encoding and base64 by themselves.
    static let dataURL = Target(name: "data-url") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let part = text[...]
        require(
            PercentEncoding.decodedCount(part) == PercentEncoding.decodedBytes(part).count,
            "what is decoded is as long as was reckoned before")
        let decoded = Base64.decoded(bytes)
        if let decoded {
            require(Base64.decoded(Array(Base64.encoded(decoded).utf8)) == decoded, "base64 is read as it is written")
        }
        if let whole = Base64.decoded(PercentEncoding.decodedBytes(part)) {
            require(Base64.leastDecodedCount(part) <= whole.count, "no more is reckoned than is decoded")
        }

        guard let url = try? ResourceURL("data:" + text) else { return }
        var request = TransportRequest(url: url)
        request.limits.maximumBodyBytes = limit
        guard let reader = try? DataURLReader(request) else { return }
        var room = [UInt8](repeating: 0, count: 7)
        var count: Int64 = 0
        while let read = try? unsafe room.withUnsafeMutableBytes({ unsafe try reader.read(into: $0) }), read > 0 {
            require(read <= 7, "no more is read than there is room for")
            count += Int64(read)
        }
        require(count == reader.length, "the body is as long as it says")
        require(reader.head.fields["content-length"] == "\(count)", "and so does the head")
    }
}
