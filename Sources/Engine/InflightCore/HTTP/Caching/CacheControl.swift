/// The `Cache-Control` directives of a request or a response (RFC 9111 section 5.2, RFC 5861, RFC 8246).
///
/// All lines of the field form one list. If a directive is repeated, the first one counts (section 4.2.1). A malformed
/// argument is read as the more restrictive value: `max-age` as 0, `no-cache="` as `no-cache`. Directives that restrict
/// only shared caches (`private`, `s-maxage`, `proxy-revalidate`) restrict nothing here.
package struct CacheControl: Hashable, Sendable {
    /// The value in seconds, like all others.
    package var maxAge: Int64?
    /// The value in seconds; `Int64.max` if the request accepts any age.
    package var maxStale: Int64?
    package var minFresh: Int64?
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    /// Whether `no-cache` has no field names, so that the response must not be used without revalidation.
    package var noCache = false
    /// The names of the header fields, in lower case, to which `no-cache` is limited.
    package var noCacheFields: Set<String> = []
    package var noStore = false
    package var onlyIfCached = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    package var isImmutable = false

    /// Whether the response must not be stored, considering `must-understand` (RFC 9111 sections 5.2.2.3 and 5.2.2.5).
    var forbidsStoring: Bool { noStore && !mustUnderstand }

    package init() {}

    package init(_ fields: HTTPFields) {
        for line in fields.rawValues("cache-control") {
            var scanner = FieldScanner(line)
            while let directive = scanner.nextDirective() { read(directive) }
        }
    }

    /// Reads a request's directives. `Pragma: no-cache` counts if there is no `Cache-Control` (RFC 9111 section 5.4).
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

    /// Reads a directive that allows more than its absence would.
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
