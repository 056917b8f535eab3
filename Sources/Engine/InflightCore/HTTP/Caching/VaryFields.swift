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
    package static func names(of head: ResponseHead) -> [String]? {
        var names = Set(head.fields.rawValues("vary").flatMap { FieldScanner.names($0) })
        guard !names.contains("*") else { return nil }
        if !CacheControl(head.fields).isPublic { names.insert(credentials) }
        names.insert(ProcessedImages.field)
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
    package static func match(_ stored: StoredResponse, _ request: HTTPFields) -> Bool {
        guard let names = names(of: stored.head) else { return false }
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
