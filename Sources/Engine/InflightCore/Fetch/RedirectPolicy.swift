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
        /// The cookies that the redirects so far have set.
        var jar = CookieJar()
        /// The cookies that this request sends: of the jar, or of the pipeline's ``ImagePipeline/CookieStore``. They
        /// are chosen once, so that all attempts and the store agree.
        var cookies: [CookieJar.Cookie] = []
        /// The requests whose redirects led to this one.
        var earlier: [Identity] = []

        var redirectCount: Int { earlier.count }

        /// Returns whether this request sends a cookie that the redirect with this number has set.
        func sendsCookies(of redirect: Int) -> Bool { cookies.contains { $0.response == redirect } }

        /// The header fields as they are sent, without defaults. One field holds all cookies (RFC 6265 section 5.4):
        /// first those that responses have set, because most servers use the first of two with the same name.
        var sentFields: HTTPFields {
            var sent = fields
            for index in 0..<originFields.count {
                sent.append(name: originFields.rawName(index), value: originFields.rawValue(index))
            }
            guard !cookies.isEmpty else { return sent }
            let values = [CookieJar.fieldValue(cookies)[...]] + sent.rawValues("cookie").filter { !$0.isEmpty }
            sent.remove("cookie")
            sent.append(name: "Cookie".utf8, value: Array(values.joined(separator: "; ".utf8)))
            return sent
        }

        /// What the requests of one load differ in. Header fields of the caller are only ever dropped, with the origin
        /// or the method.
        struct Identity: Hashable {
            var url: String
            var method: String
            /// The value of the cookies that responses have set.
            var cookies: [UInt8]
        }

        var identity: Identity {
            Identity(url: url.string, method: method, cookies: CookieJar.fieldValue(cookies))
        }
    }

    enum Decision {
        case follow(Exchange)
        /// The response is not a redirect, and is used as it is.
        case none
        case refuse(LoadError)
    }

    /// The header fields that are sent to one origin only.
    static let ownFields = ["authorization", "cookie", "proxy-authorization", "host"]

    /// The current time.
    var now: WallTime
    /// Returns whether a domain is a public suffix; `nil` if that is unknown. See ``Transport/isPublicSuffix(_:)``.
    var isPublicSuffix: (_ domain: String) -> Bool?
    /// Returns the cookies of the pipeline for a URL, those of this response included; `nil` if it keeps none.
    var cookies: ((ResourceURL) -> [CookieJar.Cookie])?

    func decide(_ exchange: Exchange, head: ResponseHead) -> Decision {
        guard [301, 302, 303, 307, 308].contains(head.status) else { return .none }
        guard let location = head.fields.reference("location"), !location.isEmpty else {
            return refuse(
                exchange, head,
                "The redirect (status \(head.status)) has no Location. Report it to the site's operator.")
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
        let next = next(exchange, target: target, head)
        guard !isLoop(from: exchange, to: next) else {
            return refuse(
                exchange, head,
                "Redirect loop: the redirect (status \(head.status)) leads to a request that was already sent, with the "
                    + "same cookies. Report it to the site's operator.")
        }
        return .follow(next)
    }

    /// Returns whether a redirect leads to its own request, or is followed for the second time. A redirect back to an
    /// earlier request is no proof, because the requests in between may have changed what the server responds.
    private func isLoop(from exchange: Exchange, to next: Exchange) -> Bool {
        let (from, to) = (exchange.identity, next.identity)
        return from == to || zip(next.earlier, next.earlier.dropFirst()).contains { $0 == from && $1 == to }
    }

    private func next(_ exchange: Exchange, target: ResourceURL, _ head: ResponseHead) -> Exchange {
        let status = head.status
        var next = exchange
        // Credentials in `Location` would be the server's, not the caller's, so the URL is used without them.
        next.url = target
        next.earlier.append(exchange.identity)
        next.jar.store(
            head.fields, from: exchange.url, response: exchange.redirectCount, at: now, isPublicSuffix: isPublicSuffix)
        next.cookies = cookies?(target) ?? next.jar.matching(target, at: now)
        if cookies != nil {
            for index in next.cookies.indices {
                next.cookies[index].response = next.jar.response(thatSet: next.cookies[index])
            }
        }
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
