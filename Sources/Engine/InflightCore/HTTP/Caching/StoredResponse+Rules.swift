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
