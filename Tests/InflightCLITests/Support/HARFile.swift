import FoundationEssentials

/// An HTTP Archive as HAR 1.2 defines it. Decoding fails if a required member is missing.
struct HARFile: Decodable {
    struct Log: Decodable {
        var version: String
        var creator: Creator
        var entries: [Entry]
    }

    struct Creator: Decodable {
        var name: String
        var version: String
    }

    struct Entry: Decodable {
        var startedDateTime: String
        var time: Double
        var request: Request
        var response: Response
        var cache: [String: String]
        var timings: Timings
    }

    struct Request: Decodable {
        var method: String
        var url: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var queryString: [Pair]
        var headersSize: Int
        var bodySize: Int

        subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
    }

    struct Response: Decodable {
        var status: Int
        var statusText: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var content: Content
        var redirectURL: String
        var headersSize: Int
        var bodySize: Int
        var _error: String?

        subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
    }

    struct Content: Decodable {
        var size: Int
        var compression: Int?
        var mimeType: String
    }

    struct Pair: Decodable, Equatable {
        var name: String
        var value: String
    }

    struct Timings: Decodable {
        var blocked: Double
        var dns: Double
        var connect: Double
        var ssl: Double
        var send: Double
        var wait: Double
        var receive: Double
    }

    var log: Log

    init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(HARFile.self, from: Data(bytes))
    }

    /// Descriptions of each violation of the format; empty for a valid archive.
    var problems: [String] {
        var problems: [String] = []
        if log.version != "1.2" { problems.append("version \(log.version)") }
        for (number, entry) in log.entries.enumerated() {
            func miss(_ what: String) { problems.append("entry \(number): \(what)") }
            let timings = entry.timings
            let optional = [timings.blocked, timings.dns, timings.connect, timings.ssl]
            let required = [timings.send, timings.wait, timings.receive]
            if optional.contains(where: { $0 < 0 && $0 != -1 }) || required.contains(where: { $0 < 0 }) {
                miss("a negative timing")
            }
            let sum = (optional.dropLast() + required).reduce(0) { $0 + max(0, $1) }
            if abs(sum - entry.time) > 0.0005 { miss("\(entry.time) ms instead of \(sum) ms") }
            if timings.ssl > timings.connect { miss("a TLS handshake longer than its connection") }
            let isDate = entry.startedDateTime.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
            if !isDate { miss("the date \(entry.startedDateTime)") }
            if entry.response.status == 0, entry.response._error == nil { miss("neither status nor error") }
            if !entry.request.url.hasPrefix("http") { miss("the URL \(entry.request.url)") }
        }
        return problems
    }
}
