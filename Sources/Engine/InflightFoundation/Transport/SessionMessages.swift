internal import Foundation
internal import InflightCore

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension URLRequest {
    /// Creates Foundation's form of `request`.
    init(_ request: TransportRequest) throws(LoadError) {
        func invalid(_ code: LoadError.Code, _ message: String) -> LoadError {
            LoadError(code, stage: .fetch, url: request.url.string, message: message)
        }
        guard let url = URL(string: request.url.string), url.host != nil else {
            throw invalid(.invalidURL, "Foundation cannot parse this URL. Check the spelling.")
        }
        if let problem = RequestRules.problem(withMethod: request.method) { throw invalid(.invalidRequest, problem) }
        if request.body != nil, request.method == "GET" || request.method == "HEAD" {
            throw invalid(.invalidRequest, "URLSession sends no body with \(request.method). Remove the body.")
        }
        // The exchange enforces timeouts. Foundation's counts in whole seconds, so it is set too long to interfere.
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 1_000_000)
        httpMethod = request.method
        httpShouldHandleCookies = false
        httpBody = request.body.map { Data($0) }
        for index in 0..<request.fields.count {
            let name = request.fields.name(index)
            let value = request.fields.value(index)
            if let problem = RequestRules.problem(withField: index, of: request.fields) {
                throw invalid(.invalidRequest, problem)
            }
            let lowerCase = name.lowercased()
            if RequestRules.framing.contains(lowerCase) { continue }
            // Foundation decodes the codings that it knows, whatever was requested, so it must request them itself.
            if lowerCase == "accept-encoding", value.lowercased() != "identity" { continue }
            let separator = lowerCase == "cookie" ? "; " : ", "
            let earlier = self.value(forHTTPHeaderField: name).map { $0 + separator } ?? ""
            setValue(earlier + value, forHTTPHeaderField: name)
        }
    }
}

extension ResponseHead {
    /// Creates a head. Foundation reports no version, and no order of the fields.
    init(_ response: HTTPURLResponse) {
        self.init(status: response.statusCode)
        let named = response.allHeaderFields.compactMap { name, value in
            (name.base as? String).flatMap { name in (value as? String).map { (name: name, value: $0) } }
        }
        for field in named.sorted(by: { $0.name < $1.name }) {
            let isCookie = field.name.lowercased() == "set-cookie"
            for line in isCookie ? Self.cookieLines(field.value) : [field.value[...]] {
                fields.append(field.name, String(line))
            }
        }
    }

    /// Returns the lines of `Set-Cookie` that Foundation has joined. Dates contain commas too; one that separates lines
    /// is followed by a name and an equals sign.
    private static func cookieLines(_ joined: String) -> [Substring] {
        var lines: [Substring] = []
        var start = joined.startIndex
        for comma in joined.indices where joined[comma] == "," {
            let rest = joined[joined.index(after: comma)...].drop { $0 == " " }
            guard let end = rest.firstIndex(where: { " =;,".contains($0) }), rest[end] == "=" else { continue }
            lines.append(joined[start..<comma])
            start = rest.startIndex
        }
        return lines + [joined[start...]]
    }

    var isCoded: Bool { fields["Content-Encoding"].map { $0.lowercased() != "identity" } ?? false }

    /// Returns the length of the body on the wire, if the server announced it.
    func announcedBytes(method: String) -> Int64? {
        if method == "HEAD" || status == 204 || status == 304 || fields.contains("Transfer-Encoding") { return nil }
        // Foundation joins repeated fields. RFC 9110 section 8.6 allows repeated equal values.
        let values = Set((fields["Content-Length"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
        guard values.count == 1, let value = values.first, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int64(value)
    }
}
