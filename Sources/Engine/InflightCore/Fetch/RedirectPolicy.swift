/// Decides how to handle a response with a status of 3xx (RFC 9110 section 15.4), without I/O.
struct RedirectPolicy {
    /// The next request. It changes with every redirect that is followed.
    struct Exchange: Sendable {
        var url: ResourceURL
        var method: String
        var fields: HTTPFields
        /// The header fields that are sent only to `url`'s own origin.
        var originFields: HTTPFields
        var body: Bytes?
        var redirectCount = 0
    }

    enum Decision {
        case follow(Exchange)
        /// The response is not a redirect, and is used as it is.
        case none
        case refuse(LoadError)
    }

    /// The header fields that are sent to one origin only.
    static let ownFields = ["authorization", "cookie", "proxy-authorization", "host"]

    var maximumRedirects: Int

    func decide(_ exchange: Exchange, head: ResponseHead) -> Decision {
        guard [301, 302, 303, 307, 308].contains(head.status) else { return .none }
        guard let location = head.fields["location"], !location.isEmpty else {
            return refuse(
                exchange, head,
                "The redirect (status \(head.status)) has no Location. Report it to the site's operator.")
        }
        guard exchange.redirectCount < maximumRedirects else {
            return refuse(
                exchange, head,
                "More than \(maximumRedirects) redirects. Raise maximumRedirects (--max-redirects).")
        }
        let target: ResourceURL
        do {
            target = try exchange.url.resolving(location)
        } catch {
            return refuse(exchange, head, "The redirect's Location is not a valid URL.")
        }
        guard target.scheme == "http" || target.scheme == "https" else {
            return refuse(
                exchange, head,
                "Redirect to unsupported URL scheme '\(target.scheme)'. Supported: http, https.")
        }
        return .follow(next(exchange, target: target, status: head.status))
    }

    private func next(_ exchange: Exchange, target: ResourceURL, status: Int) -> Exchange {
        var next = exchange
        // Credentials in `Location` would be the server's, not the caller's, so the URL is used without them.
        next.url = target
        next.redirectCount += 1
        let becomesGET =
            status == 303 ? exchange.method != "HEAD" : (status == 301 || status == 302) && exchange.method == "POST"
        if becomesGET {
            next.method = "GET"
            next.body = nil
            for name in ["content-type", "content-length", "content-encoding", "content-language", "content-location"] {
                next.fields.remove(name)
                next.originFields.remove(name)
            }
        }
        if target.origin != exchange.url.origin {
            // Fields that were dropped are not sent again, even if a later redirect returns to the origin.
            next.originFields = HTTPFields()
            // The caller's `Host` field, one of these, names the host of the old origin.
            for name in Self.ownFields { next.fields.remove(name) }
        }
        return next
    }

    private func refuse(_ exchange: Exchange, _ head: ResponseHead, _ message: String) -> Decision {
        .refuse(
            LoadError(.badRedirect, stage: .fetch, url: exchange.url.string, message: message, status: head.status))
    }
}
