/// What `Cache-Control` says, in a request or in an answer (RFC 9111 section 5.2, RFC 5861, RFC 8246).
///
/// All lines of the field count as one list. Of a directive that stands there twice the first counts (section 4.2.1); a
/// malformed argument is read the way that restricts more: `max-age` as 0, `no-cache="` as `no-cache`. What only concerns
/// shared caches (`private`, `s-maxage`, `proxy-revalidate`) changes nothing here.
package struct CacheControl: Hashable, Sendable {
    /// In seconds, as all others.
    package var maxAge: Int64?
    /// `Int64.max` where the request takes any age.
    package var maxStale: Int64?
    package var minFresh: Int64?
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    /// Without names: nothing of the answer may be used before the origin has said so.
    package var noCache = false
    /// The fields, in lower case, that alone may not be used so.
    package var noCacheFields: Set<String> = []
    package var noStore = false
    package var onlyIfCached = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    package var isImmutable = false

    /// Whether nothing of the response may be stored, `must-understand` considered (RFC 9111 sections 5.2.2.3 and 5.2.2.5).
    var forbidsStoring: Bool { noStore && !mustUnderstand }

    package init() {}

    package init(_ fields: HTTPFields) {
        for line in fields.rawValues("cache-control") {
            var scanner = FieldScanner(line)
            while let directive = scanner.nextDirective() { read(directive) }
        }
    }

    /// What a request says: `Pragma: no-cache` counts where there is no `Cache-Control` (RFC 9111 section 5.4).
    package init(request fields: HTTPFields) {
        self.init(fields)
        guard !fields.contains("cache-control") else { return }
        for line in fields.rawValues("pragma") {
            var scanner = FieldScanner(line)
            while let directive = scanner.nextDirective() {
                if directive.name == "no-cache" { noCache = true }
            }
        }
    }

    private mutating func read(_ directive: FieldScanner.Directive) {
        switch directive.name {
        case "no-store": noStore = true
        case "no-cache": readNoCache(directive.argument)
        case "must-revalidate": mustRevalidate = true
        case "private": isPrivate = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": if maxAge == nil { maxAge = directive.isDoubtful ? 0 : seconds(directive) ?? 0 }
        case "min-fresh": if minFresh == nil { minFresh = seconds(directive) ?? 1 << 31 }
        default: if !directive.isDoubtful { readPermission(directive) }
        }
    }

    /// What lets more be done with an answer than could be without it.
    private mutating func readPermission(_ directive: FieldScanner.Directive) {
        switch directive.name {
        case "max-stale":
            if maxStale == nil { maxStale = directive.argument == .none ? .max : seconds(directive) ?? 0 }
        case "stale-while-revalidate":
            if staleWhileRevalidate == nil { staleWhileRevalidate = seconds(directive) ?? 0 }
        case "stale-if-error": if staleIfError == nil { staleIfError = seconds(directive) ?? 0 }
        case "public": isPublic = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private mutating func readNoCache(_ argument: FieldScanner.Directive.Argument) {
        guard case .value(let names) = argument else {
            noCache = true
            return
        }
        let list = FieldScanner.names(names)
        noCacheFields.formUnion(list)
        if list.isEmpty { noCache = true }
    }

    private func seconds(_ directive: FieldScanner.Directive) -> Int64? {
        guard case .value(let value) = directive.argument else { return nil }
        return FieldScanner.seconds(value)
    }
}
