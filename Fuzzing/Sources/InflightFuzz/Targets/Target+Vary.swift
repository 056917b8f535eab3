@testable import InflightCore

extension Target {
    /// `Vary` in the first line, then two requests separated by an empty line.
    static let vary = Target(name: "vary") { bytes in
        let lines = bytes.lines
        let rest = lines.dropFirst()
        let empty = rest.firstIndex { $0.isEmpty } ?? rest.endIndex
        let first = HTTPFields(lines: rest[..<empty])
        let second = HTTPFields(lines: rest[empty...])
        let head = ResponseHead(status: 200, fields: HTTPFields("Vary", lines.prefix(1)))
        guard let ofFirst = stored(head, first), let ofSecond = stored(head, second) else {
            return require(VaryFields.names(of: head) == nil, "only `Vary: *` matches no request")
        }
        require(VaryFields.match(ofFirst, first), "a response matches the request that selected it")
        require(
            VaryFields.match(ofFirst, second) == VaryFields.match(ofSecond, first),
            "matching two requests is symmetric")
        let secrets = ["authorization", "cookie", "proxy-authorization", ":credentials"]
        for name in secrets {
            for value in ofFirst.varyFields.values(name) {
                require(value.hasPrefix("hmac-sha256:") && value.utf8.count == 109, "credentials are stored as digests")
            }
        }
    }

    private static func stored(_ head: ResponseHead, _ request: HTTPFields) -> StoredResponse? {
        VaryFields.of(request, for: head).map { selecting in
            StoredResponse(
                method: "GET", url: "http://a.example/1", varyFields: selecting, head: head,
                requestTime: .example, responseTime: .example, bodyRange: 0..<1, totalLength: 1)
        }
    }
}
