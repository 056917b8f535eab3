/// Decides from a response's status whether its body is the requested resource, without I/O.
enum StatusPolicy {
    /// - Returns: `nil` if the body is usable.
    static func error(for head: ResponseHead, request: ImageRequest, now: WallTime) -> LoadError? {
        switch head.status {
        case 204, 205, 304:
            return refuse(head, "The server responded with status \(head.status), which has no body.")
        case 206:
            // Some servers answer every request so. The whole representation is not a part of it.
            if !head.isPart || request.fields.contains("range") || request.originFields.contains("range") { return nil }
            return refuse(head, "The server sent a partial response (206) to a request without a range.")
        case 200..<300: return nil
        case 404, 410:
            return refuse(head, "Not found: the server responded with status \(head.status). Check the URL.")
        case 408, 425:
            return refuse(head, "The server is not ready for the request (status \(head.status)).", now)
        case 401, 403:
            return refuse(head, "The server denied access (status \(head.status)). Check the credentials.")
        case 429, 503:
            return refuse(head, "The server is overloaded or limits requests (status \(head.status)).", now)
        case 500..<600:
            return refuse(head, "Server error (status \(head.status)).", now)
        default:
            return refuse(head, "The server responded with status \(head.status) instead of an image.")
        }
    }

    /// Returns the error of a failure that may be transient, with the time after which to retry.
    private static func refuse(_ head: ResponseHead, _ message: String, _ now: WallTime) -> LoadError {
        guard let wait = RetryAfter.milliseconds(head.fields, now: now), wait > 0 else {
            return refuse(head, message + " Try again later.")
        }
        return refuse(
            head, message + " Try again in \((wait - 1) / 1000 + 1) s, as the server asks.",
            RequestedPause(duration: .milliseconds(wait)))
    }

    private static func refuse(_ head: ResponseHead, _ message: String, _ pause: RequestedPause? = nil) -> LoadError {
        LoadError(.badStatus, stage: .fetch, message: message, status: head.status, underlying: pause)
    }
}

/// The time that a server asked to wait with `Retry-After` (RFC 9110 section 10.2.3): the underlying error of a status
/// that may be transient.
package struct RequestedPause: Error {
    /// The time from the response on.
    package let duration: Duration
}
