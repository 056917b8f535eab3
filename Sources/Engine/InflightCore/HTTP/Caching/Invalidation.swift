/// What an unsafe request makes useless (RFC 9111 section 4.4).
package enum Invalidation {
    /// RFC 9110 section 9.2.1. A method that is not known may change anything.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// The URLs under which nothing may be used any more without asking: the request's own, and what `Location` and
    /// `Content-Location` name on its origin. Empty where the method is safe or the answer is an error.
    package static func urls(_ head: ResponseHead, of request: CachingRequest) -> [String] {
        guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
        guard let own = try? ResourceURL(request.url) else { return [request.url] }
        var urls = [own.string]
        for name in ["location", "content-location"] {
            guard let reference = head.fields[name], let url = try? own.resolving(reference), url.origin == own.origin,
                !urls.contains(url.string)
            else { continue }
            urls.append(url.string)
        }
        return urls
    }
}
