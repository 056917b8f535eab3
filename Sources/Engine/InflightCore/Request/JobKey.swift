/// The key by which requests share a job. Each stage has its own key type, which contains the key of the stage before:
///
///     FetchKey ──► DecodeKey ──► ProcessKey (one for each prefix of the processors)
///
/// Two requests with one URL and two sizes share the fetch; two with one size and the processors `[a]` and `[a, b]`
/// share all but `b`. A key and its hash are computed before any lock is taken. Comparing and hashing it under a lock
/// runs no user code. Keys are references, because a million of them may be queued.
class JobKey: Hashable, @unchecked Sendable {
    // Unchecked: the subclasses are final and immutable.
    final let hash: Int

    fileprivate init(hash: Int) {
        self.hash = hash
    }

    static func == (left: JobKey, right: JobKey) -> Bool {
        left === right || (left.hash == right.hash && left.isSame(as: right))
    }

    final func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    fileprivate func isSame(as other: JobKey) -> Bool { false }
}

/// The URL, and everything else that may change the result of a fetch. Secrets in it are a keyed hash.
final class FetchKey: JobKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let url: String
    private let rest: [UInt8]

    init(url: String, rest: [UInt8]) {
        self.url = url
        self.rest = rest
        var hasher = Hasher()
        hasher.combine(url)
        if !rest.isEmpty { unsafe rest.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
        super.init(hash: hasher.finalize())
    }

    override fileprivate func isSame(as other: JobKey) -> Bool {
        guard let other = other as? FetchKey else { return false }
        return url == other.url && rest == other.rest
    }
}

/// A fetch, and how its bytes are decoded.
final class DecodeKey: JobKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let fetch: FetchKey
    private let options: DecodeOptions
    private let flags: Flags

    /// The options of a decode besides those for the pixels.
    struct Flags: OptionSet, Hashable {
        let rawValue: UInt8

        static let keepsMetadata = Flags(rawValue: 1)
        static let allowsPartialImage = Flags(rawValue: 2)
    }

    init(fetch: FetchKey, options: DecodeOptions, flags: Flags = []) {
        self.fetch = fetch
        self.options = options
        self.flags = flags
        var hasher = Hasher()
        fetch.hash(into: &hasher)
        hasher.combine(options)
        super.init(hash: hasher.finalize())
    }

    override fileprivate func isSame(as other: JobKey) -> Bool {
        guard let other = other as? DecodeKey else { return false }
        return options == other.options && flags == other.flags && fetch == other.fetch
    }
}

/// A decode, and the identities of the processors applied to its image.
final class ProcessKey: JobKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let decode: DecodeKey
    private let identities: [String]

    init(decode: DecodeKey, identities: [String]) {
        self.decode = decode
        self.identities = identities
        var hasher = Hasher()
        decode.hash(into: &hasher)
        hasher.combine(identities)
        super.init(hash: hasher.finalize())
    }

    override fileprivate func isSame(as other: JobKey) -> Bool {
        guard let other = other as? ProcessKey else { return false }
        return identities == other.identities && decode == other.decode
    }
}
