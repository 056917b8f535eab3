/// The data stored beside a response's body: enough to decide how a later request may use it (RFC 9111).
public struct StoredResponse: Hashable, Sendable {
    /// The method of the request: `GET`, or another one whose response HTTP allows caches to store.
    public var method: String
    /// The URL of the response, without credentials and fragment.
    public var url: String
    /// The request's fields by which the response was selected, each on one line: those that its `Vary` names (RFC 9111
    /// section 4.1) and, unless it is `public`, the credentials. Secrets are stored as digests.
    public var varyFields: HTTPFields
    /// The status, version and header fields of the response.
    public var head: ResponseHead
    /// The time at which the request was sent (RFC 9111 section 4.2.3).
    public var requestTime: WallTime
    /// The time at which the response's head was received (RFC 9111 section 4.2.3).
    public var responseTime: WallTime
    /// The stored bytes of the representation; all of them if it is from 0 to ``totalLength``. If some are missing,
    /// ``head`` is still that of the whole: status 200, without `Content-Range`.
    public var bodyRange: Range<Int64>
    /// The length of the whole representation in bytes, in its content coding; `nil` if it is unknown.
    public var totalLength: Int64?

    /// Creates the data of a response to store.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - url: the URL of the response, without credentials and fragment.
    ///   - varyFields: the request's fields by which the response was selected; see ``varyFields``.
    ///   - head: the head of the response; for a part of a body, that of the whole.
    ///   - requestTime: the time at which the request was sent.
    ///   - responseTime: the time at which the response's head was received.
    ///   - bodyRange: the bytes of the representation that are stored.
    ///   - totalLength: the length of the whole representation in bytes; nil if it is unknown.
    public init(
        method: String, url: String, varyFields: HTTPFields, head: ResponseHead, requestTime: WallTime,
        responseTime: WallTime, bodyRange: Range<Int64>, totalLength: Int64?
    ) {
        self.method = method
        self.url = url
        self.varyFields = varyFields
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyRange = bodyRange
        self.totalLength = totalLength
    }

    /// Whether the whole body is stored.
    public var isComplete: Bool { bodyRange.lowerBound == 0 && bodyRange.upperBound == totalLength }
}

extension StoredResponse {
    package var cacheControl: CacheControl { CacheControl(head.fields) }

    package var entityTag: EntityTag? { EntityTag(of: head.fields) }

    /// The time at which the origin states that it made the response; `nil` if missing or malformed.
    package var statedDate: WallTime? { HTTPDate.parse("date", of: head.fields, now: responseTime) }

    /// The origin's date or, without one, the time at which the response was received (RFC 9110 section 6.6.1).
    package var date: WallTime { statedDate ?? responseTime }

    package var lastModified: WallTime? { HTTPDate.parse("last-modified", of: head.fields, now: responseTime) }

    /// Whether `Last-Modified` changes whenever a byte does: it is at least one second before the same server's `Date`,
    /// so nothing can have changed later within the same second (RFC 9110 section 8.8.2.2).
    package var hasStrongLastModified: Bool {
        guard let lastModified, let statedDate else { return false }
        return statedDate.milliseconds(since: lastModified) >= 1000
    }

    /// Whether a validator can prove that two parts belong together: a strong tag or, without a tag, a strong date.
    package var hasStrongValidator: Bool {
        if let entityTag { return !entityTag.isWeak }
        return hasStrongLastModified
    }

    package var hasValidator: Bool { entityTag != nil || lastModified != nil }

    /// Returns whether both share a strong validator, so that their bytes belong together (RFC 9110 section 8.8.1).
    package func sharesStrongValidator(with fields: HTTPFields) -> Bool {
        if let entityTag {
            return EntityTag(of: fields).map { entityTag.stronglyEquals($0) } ?? false
        }
        guard EntityTag(of: fields) == nil, hasStrongLastModified else { return false }
        return HTTPDate.parse("last-modified", of: fields, now: responseTime) == lastModified
    }
}

extension StoredResponse {
    /// Returns the response with the fields and times of a newer head of its representation (RFC 9111 section 3.2).
    package func updated(by head: ResponseHead, requestTime: WallTime, responseTime: WallTime) -> StoredResponse {
        var updated = self
        var head = head
        head.fields = StoragePolicy.withoutSecrets(head.fields)
        updated.head.fields = Self.merged(
            self.head.fields, with: head.fields, leaving: StoragePolicy.unstorableFieldNames(head.fields))
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        return updated
    }

    /// Returns the updated fields for the caller, including those that a newer `no-cache="…"` keeps out of the store.
    static func shown(_ stored: HTTPFields, with fields: HTTPFields) -> HTTPFields {
        let names = CacheControl(fields).noCacheFields
        return merged(stored, with: fields, leaving: StoragePolicy.unstorableFieldNames(fields).subtracting(names))
    }

    private static func merged(_ old: HTTPFields, with new: HTTPFields, leaving left: Set<String>) -> HTTPFields {
        // These fields describe the stored bytes, which do not change.
        let ofBytes: Set<String> = ["content-length", "content-encoding", "content-range"]
        let taken = new.filtered { !left.contains($0) && !ofBytes.contains($0) }
        // These two fields describe a single response. The old ones would make the newer response seem old.
        var replaced: Set<String> = ["age", "date"]
        for index in 0..<taken.count { replaced.insert(taken.name(index).lowercased()) }
        var fields = old.filtered { !replaced.contains($0) }
        for index in 0..<taken.count { fields.append(name: taken.rawName(index), value: taken.rawValue(index)) }
        return fields
    }
}

/// The response to a request from a stored entry.
package struct ServedResponse: Hashable, Sendable {
    /// The position of the entry in the lookup's result, and its ID.
    package var position: Int
    package var id: StoredEntry.ID
    /// The stored response, with the updates of a 304 that has confirmed it.
    package var stored: StoredResponse
    /// The head to return: status 200 or the stored one, 206 for a part, 304 or 416; with `Age` and `Date`.
    package var head: ResponseHead
    /// The entry's stored bytes that form the body, counted from the first stored one; `nil` for no body.
    package var bytes: Range<Int64>?
    /// The directives of the stored response.
    var control: CacheControl
    /// The age and the freshness lifetime of the stored response at the time of the decision.
    var freshness: Freshness
    /// Whether it is stale.
    package var isStale: Bool { !freshness.isFresh }

    /// Evaluates the conditions of `request` against `entry` (RFC 9111 section 4.3.2), then its range.
    ///
    /// - Parameter control: the directives of the entry's response, if they have been parsed.
    /// - Returns: `nil` if the entry cannot serve the request: another method, or bytes that are not stored.
    package init?(
        _ entry: StoredEntry, _ control: CacheControl? = nil, at position: Int, for request: CachingRequest,
        now: WallTime
    ) {
        let stored = entry.response
        let control = control ?? stored.cacheControl
        self.control = control
        freshness = Freshness(of: stored, control, at: now)
        var head = stored.head
        head.fields.set("Age", "\(freshness.ageInSeconds)")
        if stored.statedDate == nil { head.fields.set("Date", HTTPDate.text(stored.responseTime)) }
        self.position = position
        id = entry.id
        self.stored = stored
        self.head = head
        guard request.method == "GET" || (request.method == "HEAD" && stored.isComplete) else { return nil }

        if stored.isComplete, Self.holdsForCaller(stored, request.fields) {
            self.head = Self.notModified(head)
            bytes = nil
            return
        }
        guard request.method == "GET", stored.head.status == 200 else {
            guard stored.isComplete else { return nil }
            bytes = request.method == "GET" ? 0..<stored.bodyRange.upperBound : nil
            return
        }
        guard case .one(let range) = RangeRequest(request.fields), Self.rangeCounts(stored, request.fields) else {
            guard stored.isComplete else { return nil }
            bytes = 0..<stored.bodyRange.upperBound
            return
        }
        guard let part = Self.part(range, of: stored) else {
            guard let total = stored.totalLength, range.resolved(total: total) == nil else { return nil }
            self.head = Self.notSatisfiable(head, total: total)
            bytes = nil
            return
        }
        let start = stored.bodyRange.lowerBound
        bytes = (part.lowerBound - start)..<(part.upperBound - start)
        self.head.status = 206
        self.head.fields.set("Content-Range", ContentRange.text(part, total: stored.totalLength))
        self.head.fields.set("Content-Length", "\(part.count)")
    }

    /// Returns the representation's bytes in a range, if all of them are stored.
    private static func part(_ range: ByteRange, of stored: StoredResponse) -> Range<Int64>? {
        let part: Range<Int64>?
        if let total = stored.totalLength {
            part = range.resolved(total: total)
        } else if case .between(let first, let last) = range, last < .max {
            part = first..<(last + 1)
        } else {
            part = nil
        }
        guard let part, part.lowerBound >= stored.bodyRange.lowerBound, part.upperBound <= stored.bodyRange.upperBound
        else { return nil }
        return part
    }

    /// Returns whether `If-Range`, if any, strongly matches the stored representation (RFC 9110 section 13.1.5).
    private static func rangeCounts(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        guard let value = fields.rawValues("if-range").first else { return true }
        if let date = HTTPDate.parse(value, now: stored.responseTime) {
            return stored.hasStrongLastModified && stored.lastModified == date
        }
        guard let tag = EntityTag(value), let own = stored.entityTag else { return false }
        return tag.stronglyEquals(own)
    }

    /// Returns whether the caller already has the stored response (RFC 9110 section 13.2.2).
    private static func holdsForCaller(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        // Conditions apply only to responses that would be successful without them (RFC 9110 section 13.2.1).
        guard (200..<300).contains(stored.head.status) else { return false }
        if let condition = EntityTagCondition("if-none-match", of: fields) {
            return condition.weaklyMatches(stored.entityTag)
        }
        guard let since = HTTPDate.parse("if-modified-since", of: fields, now: stored.responseTime) else {
            return false
        }
        return (stored.lastModified ?? stored.date) <= since
    }

    /// Returns the head of a 304, without the fields that describe a body (RFC 9110 section 15.4.5).
    private static func notModified(_ head: ResponseHead) -> ResponseHead {
        let left: Set<String> = [
            "content-length", "content-type", "content-encoding", "content-language", "content-range",
        ]
        return ResponseHead(status: 304, version: head.version, fields: head.fields.filtered { !left.contains($0) })
    }

    /// Returns the head of a 416 (RFC 9110 section 15.5.17).
    private static func notSatisfiable(_ head: ResponseHead, total: Int64) -> ResponseHead {
        var head = notModified(head)
        head.status = 416
        head.fields.set("Content-Range", ContentRange.text(nil, total: total))
        head.fields.set("Content-Length", "0")
        return head
    }
}

/// The request's fields by which a response was selected: those that its `Vary` names (RFC 9111 section 4.1), and the
/// caller's credentials.
///
/// A program may load for several users with one pipeline, so a response to a request with credentials is served only
/// to requests with the same credentials, unless it is `public` (RFC 9111 section 3.5). Credentials are
/// `Authorization`, `Proxy-Authorization`, `Cookie`, and the header fields that the caller sends to one origin only.
/// They are stored only as digests: see ``KeyedDigest``.
package enum VaryFields {
    /// Represents all credentials of a request together. No field name contains a colon (RFC 9110 section 5.1).
    package static let credentials = ":credentials"
    /// The names of the fields that are credentials in this request, if they differ from the default.
    package static let credentialNames = ":credential-names"
    package static let defaultCredentials: Set<String> = ["authorization", "proxy-authorization", "cookie"]
    /// Lists whose order and case are insignificant (RFC 9110 sections 12.5.3 and 12.5.4).
    private static let preferences: Set<String> = ["accept-encoding", "accept-language"]

    /// Returns the names in lower case, sorted; `nil` if no other request can be known to match (`Vary: *`).
    ///
    /// - Parameter control: the directives of `head`, if they have been parsed.
    package static func names(of head: ResponseHead, _ control: CacheControl? = nil) -> [String]? {
        let listed = head.fields.rawValues("vary").flatMap { FieldScanner.names($0) }
        guard !listed.contains("*") else { return nil }
        var names = listed.isEmpty ? [] : Array(Set(listed))
        if !(control ?? CacheControl(head.fields)).isPublic { names.append(credentials) }
        names.append(ProcessedImages.field)
        return names.sorted()
    }

    /// Returns the fields to store for the request of `head`, without those that the request did not have.
    package static func of(_ request: HTTPFields, for head: ResponseHead) -> HTTPFields? {
        guard let names = names(of: head) else { return nil }
        var fields = HTTPFields()
        for name in names {
            guard let value = value(name, of: request) else { continue }
            fields.append(name: name.utf8, value: isSecret(name, of: request) ? KeyedDigest.text(of: value) : value)
        }
        return fields
    }

    /// Returns whether a stored response was selected by a request with the same selecting fields.
    ///
    /// - Parameter control: the directives of `stored`, if they have been parsed.
    package static func match(
        _ stored: StoredResponse, _ request: HTTPFields, control: CacheControl? = nil
    ) -> Bool {
        guard let names = names(of: stored.head, control) else { return false }
        return agree(stored, request, in: names)
    }

    /// Returns whether a response that was selected by another request may be offered to the origin for this one: only
    /// with the same credentials, so that a server with ambiguous tags does not give one user another's bytes.
    package static func mayBeOffered(_ stored: StoredResponse, _ request: HTTPFields) -> Bool {
        guard let names = names(of: stored.head) else { return false }
        return agree(stored, request, in: names.filter { isSecret($0, of: request) })
    }

    private static func agree(_ stored: StoredResponse, _ request: HTTPFields, in names: [String]) -> Bool {
        names.allSatisfy { name in
            let kept = stored.varyFields.rawValues(name).first
            let now = value(name, of: request)
            guard let kept, let now else { return kept == nil && now == nil }
            return kept.elementsEqual(now) || KeyedDigest.matches(kept, now)
        }
    }

    /// Returns all lines of a field as one, without white space around its commas (RFC 9111 section 4.1), and
    /// normalized if order and case are insignificant. Requests are compared by this value.
    private static func value(_ name: String, of fields: HTTPFields) -> [UInt8]? {
        if name == credentials { return allCredentials(of: fields) }
        let lines = fields.rawValues(name)
        guard !lines.isEmpty else { return nil }
        let value = Array(lines.map { normalized($0) }.joined(separator: [UInt8.comma]))
        return preferences.contains(name) ? sortedMembers(of: value) : value
    }

    private static func isSecret(_ name: String, of fields: HTTPFields) -> Bool {
        name == credentials || defaultCredentials.contains(name) || names(ofCredentials: fields).contains(name)
    }

    private static func names(ofCredentials fields: HTTPFields) -> Set<String> {
        guard let line = fields.rawValues(credentialNames).first else { return defaultCredentials }
        return Set(FieldScanner.names(line))
    }

    /// Returns each name with its value, unambiguously delimited; `nil` if there are no credentials.
    private static func allCredentials(of fields: HTTPFields) -> [UInt8]? {
        let present = names(ofCredentials: fields).sorted().compactMap { name in
            value(name, of: fields).map { Array("\(name):\($0.count):".utf8) + $0 }
        }
        return present.isEmpty ? nil : Array(present.joined())
    }

    private static func sortedMembers(of list: [UInt8]) -> [UInt8] {
        let members = list.filter { !$0.isBlank }.map(\.asciiLowercased).split(separator: .comma)
        return Array(members.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8.comma]))
    }

    private static func normalized(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in FieldScanner.trimmed(line) {
            if isQuoted {
                if byte == .quote, !isEscaped { isQuoted = false }
                isEscaped = byte == .backslash && !isEscaped
            } else if byte == .quote {
                isQuoted = true
            } else if byte == .comma {
                while let last = result.last, last.isBlank { result.removeLast() }
            } else if byte.isBlank, result.last == .comma {
                continue
            }
            result.append(byte)
        }
        return result
    }
}

/// A digest of a secret with a random key that is stored beside it: HMAC with SHA-256 (RFC 2104).
///
/// A stored value shows whether a secret is the same, but not the secret. The key differs in each entry, so entries of
/// one account cannot be linked, and precomputed tables do not help. A guess at a weak secret can still be tested.
enum KeyedDigest {
    private static let scheme = Array("hmac-sha256:".utf8)
    private static let keyLength = 16
    private static let blockLength = 64

    /// Returns the digest of a secret under a new key, as text.
    static func text(of secret: [UInt8]) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return text(of: secret, key: (0..<keyLength).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// Returns whether `stored` is the digest of a secret.
    static func matches(_ stored: ArraySlice<UInt8>, _ secret: [UInt8]) -> Bool {
        guard stored.starts(with: scheme),
            let key = Hexadecimal.bytes(stored.dropFirst(scheme.count).prefix(2 * keyLength)), key.count == keyLength
        else { return false }
        return stored.elementsEqual(text(of: secret, key: key))
    }

    private static func text(of secret: [UInt8], key: [UInt8]) -> [UInt8] {
        func hash(_ pad: UInt8, _ message: [UInt8]) -> [UInt8] {
            var hash = SHA256()
            let block = key + [UInt8](repeating: 0, count: blockLength - key.count)
            hash.append(block.map { $0 ^ pad })
            hash.append(message)
            return hash.digest
        }
        let digest = hash(0x5C, hash(0x36, secret))
        return scheme + Array((Hexadecimal.text(key) + ":" + Hexadecimal.text(digest)).utf8)
    }
}
