import Inflight
import InflightCore

/// One HTTP exchange of a run, as an entry of an HTTP Archive (HAR 1.2).
struct HARExchange: Sendable {
    /// The request as the engine passes it to the transport.
    var request: TransportRequest
    /// The time at which it began, in seconds since 1970. All other times count from then.
    var startedAt: Double
    var timings: TransportTimings?
    var head: ResponseHead?
    var headAt = Duration.zero
    /// The number of received body bytes, without those that the transport still holds.
    var receivedBytes: Int64 = 0
    /// Nil if the exchange failed.
    var summary: TransportSummary?
    var error: LoadError?
    var endedAt = Duration.zero

    /// Returns the entry as a JSON object.
    func entry(_ redaction: Redaction) -> [UInt8] {
        let phases = phases.map { ($0.name, $0.time.map(Self.microseconds)) }
        var entry = JSONWriter()
        entry.add("startedDateTime", Timestamp.text(secondsSince1970: startedAt, fractions: true))
        // The time of the TLS handshake is part of that of the connection.
        let total = phases.reduce(0) { $0 + ($1.0 == "ssl" ? 0 : $1.1 ?? 0) }
        entry.add("time", Self.milliseconds(total))
        entry.add("request") { add(request, redaction, to: &$0) }
        entry.add("response") { addResponse(redaction, to: &$0) }
        entry.add("cache") { _ in }
        entry.add("timings") { for (name, time) in phases { $0.add(name, time.map(Self.milliseconds) ?? -1) } }
        return entry.object
    }

    private func add(_ request: TransportRequest, _ redaction: Redaction, to writer: inout JSONWriter) {
        let url = Redaction.text(request.url.string)
        writer.add("method", request.method)
        writer.add("url", url)
        writer.add("httpVersion", version)
        Self.add(request.fields, redaction, to: &writer)
        let query = url.firstIndex(of: "?").map { url[url.index(after: $0)...].split(separator: "&") } ?? []
        writer.add("queryString", query) { inner, parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            inner.add("name", String(parts[0]))
            inner.add("value", parts.count > 1 ? String(parts[1]) : "")
        }
        writer.add("headersSize", -1)
        writer.add("bodySize", request.body?.count ?? 0)
    }

    private func addResponse(_ redaction: Redaction, to writer: inout JSONWriter) {
        let fields = head?.fields ?? HTTPFields()
        writer.add("status", head?.status ?? 0)
        // The engine does not keep the reason phrase, which HTTP/2 does not have.
        writer.add("statusText", "")
        writer.add("httpVersion", version)
        Self.add(fields, redaction, to: &writer)
        writer.add("content") { addContent(to: &$0) }
        writer.add("redirectURL", Redaction.text(fields.reference("Location") ?? ""))
        writer.add("headersSize", -1)
        writer.add("bodySize", summary?.wireBytes ?? -1)
        if let error { writer.add("_error", "\(error.code): \(Redaction.text(error.commandMessage))") }
    }

    private func addContent(to writer: inout JSONWriter) {
        // If the request accepts codings, the transport delivers the body as received, and the engine decodes it.
        let coding = head?.fields["Content-Encoding"].map { $0.lowercased() }
        let isCoded = receivedBytes > 0 && coding != nil && coding != "identity"
        let isDecoded = !request.fields.contains("Accept-Encoding")
        writer.add("size", isCoded && !isDecoded ? -1 : receivedBytes)
        if isCoded, isDecoded, let summary { writer.add("compression", receivedBytes - summary.wireBytes) }
        writer.add("mimeType", head?.fields["Content-Type"] ?? "")
    }

    /// Adds header fields, and the list of cookies that the format requires. Cookies are secret, so it is empty.
    private static func add(_ fields: HTTPFields, _ redaction: Redaction, to writer: inout JSONWriter) {
        writer.add("cookies", [String]())
        writer.add("headers", 0..<fields.count) { inner, index in
            let name = fields.name(index)
            inner.add("name", name)
            inner.add("value", redaction.value(of: name, fields.value(index)))
        }
    }

    private var version: String {
        guard let version = head?.version, version != .none else { return "" }
        return "HTTP/\(version.rawValue)"
    }

    // MARK: Timings

    /// The phases of the exchange, in order; nil if it has not reached a phase, or skipped it.
    private var phases: [(name: String, time: Duration?)] {
        var (blocked, dns, connect, tls): (Duration?, Duration?, Duration?, Duration?)
        /// The time at which there was a connection to send the request on.
        var ready = Duration.zero
        if let timings, timings.reusedConnection, let assigned = timings.connected {
            (blocked, ready) = (assigned, assigned)
        } else if let timings, let named = timings.nameResolved {
            dns = named
            // TLS may not have finished, on a connection that has been established.
            let isOpen = timings.secured != nil || timings.firstByte != nil || request.url.scheme == "http"
            ready = isOpen ? timings.secured ?? timings.connected ?? endedAt : endedAt
            connect = ready - named
            if let connected = timings.connected, request.url.scheme == "https" { tls = ready - connected }
        } else if timings != nil || head == nil {
            (blocked, ready) = (endedAt, endedAt)
        }
        let answered = max(ready, timings?.firstByte ?? (head == nil ? endedAt : headAt))
        return [
            ("blocked", blocked), ("dns", dns), ("connect", connect), ("ssl", tls), ("send", .zero),
            ("wait", answered - ready), ("receive", endedAt - answered),
        ]
    }

    private static func microseconds(_ time: Duration) -> Int64 { max(0, time.saturatedNanoseconds / 1000) }

    private static func milliseconds(_ microseconds: Int64) -> Double { Double(microseconds) / 1000 }
}
