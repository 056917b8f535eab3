/// Decides from a response's status whether its body is the requested resource, without I/O.
enum StatusPolicy {
    /// - Returns: `nil` if the body is usable.
    static func error(for head: ResponseHead, request: ImageRequest, now: WallTime) -> LoadError? {
        switch head.status {
        case 204, 205, 304:
            return refuse(head, "The server answered \(head.status), which carries no picture.")
        case 206:
            if request.fields.contains("range") || request.originFields.contains("range") { return nil }
            return refuse(head, "The server sent a part (206) where the whole was asked for.")
        case 200..<300: return nil
        case 404, 410:
            return refuse(head, "There is nothing at this URL: the server answered \(head.status).")
        case 408, 425:
            return refuse(head, "The server does not answer yet (\(head.status)).", now)
        case 401, 403:
            return refuse(head, "The server refuses access (\(head.status)). Check the credentials that are sent.")
        case 429, 503:
            return refuse(head, "The server is too busy (\(head.status)).", now)
        case 500..<600:
            return refuse(head, "The server failed (\(head.status)).", now)
        default:
            return refuse(head, "The server answered with status \(head.status), and no picture.")
        }
    }

    /// Returns the error of a failure that may be transient, with the time after which to retry.
    private static func refuse(_ head: ResponseHead, _ message: String, _ now: WallTime) -> LoadError {
        guard let wait = RetryAfter.milliseconds(head.fields, now: now), wait > 0 else {
            return refuse(head, message + " Try again later.")
        }
        return refuse(head, message + " It asks to be left alone for \((wait - 1) / 1000 + 1) s: come back then.")
    }

    private static func refuse(_ head: ResponseHead, _ message: String) -> LoadError {
        LoadError(.badStatus, stage: .fetch, message: message, status: head.status)
    }
}
