@testable import InflightCore
@testable import InflightImages

extension Target {
    private static let limit: Int64 = 512

    /// The part of a URL after `data:`; also percent-encoding and base64 alone.
    static let dataURL = Target(name: "data-url") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let part = text[...]
        require(
            PercentEncoding.decodedCount(part) == PercentEncoding.decodedBytes(part).count,
            "the predicted length is the decoded length")
        let decoded = Base64.decoded(bytes)
        if let decoded {
            require(Base64.decoded(Array(Base64.encoded(decoded).utf8)) == decoded, "base64 decodes what it encoded")
        }
        if let whole = Base64.decoded(PercentEncoding.decodedBytes(part)) {
            require(Base64.leastDecodedCount(part) <= whole.count, "the predicted minimum is a minimum")
        }

        guard let url = try? ResourceURL("data:" + text) else { return }
        var request = TransportRequest(url: url)
        request.limits.maximumBodyBytes = limit
        guard let reader = try? DataURLReader(request) else { return }
        var room = [UInt8](repeating: 0, count: 7)
        var count: Int64 = 0
        while let read = try? unsafe room.withUnsafeMutableBytes({ unsafe try reader.read(into: $0) }), read > 0 {
            require(read <= 7, "a read stays within the buffer")
            count += Int64(read)
        }
        require(count == reader.length, "the body has the announced length")
        require(reader.head.fields["content-length"] == "\(count)", "Content-Length is the body's length")
    }
}
