/// The invalidation of stored responses by unsafe requests (RFC 9111 section 4.4).
package enum Invalidation {
    /// Returns whether a method is safe (RFC 9110 section 9.2.1). An unknown method may change anything.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// Returns the URLs whose stored responses must not be used without a request: the request's own, and those on its
    /// origin in `Location` and `Content-Location`. Empty if the method is safe or the response is an error.
    package static func urls(_ head: ResponseHead, of request: CachingRequest) -> [String] {
        guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
        guard let own = try? ResourceURL(request.url) else { return [request.url] }
        var urls = [own.string]
        for name in ["location", "content-location"] {
            guard let reference = head.fields.reference(name), let url = try? own.resolving(reference),
                url.origin == own.origin, !urls.contains(url.string)
            else { continue }
            urls.append(url.string)
        }
        return urls
    }
}
