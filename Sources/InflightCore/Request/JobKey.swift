/// What makes two jobs the same job: one kind of key for each stage, each holding the one before it.
///
///     fetch ──► decode ──► process (one for each prefix of the processors)
///
/// Two requests with one URL and two sizes share the fetch; two with one size and the processors `[a]` and `[a, b]` share
/// all but `b`. A key is made before any lock is taken, with its hash; comparing and hashing it under a lock runs no code
/// of a user. One reference, because a million of them may wait.
final class JobKey: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// The URL, and everything else that may change what a fetch gives; secrets in it are a keyed hash.
        case fetch(url: String, rest: [UInt8])
        case decode(JobKey, DecodeOptions)
        /// A decode, and the identities of the processors that its picture went through.
        case process(JobKey, [String])
    }

    let content: Content
    private let hash: Int

    init(_ content: Content) {
        self.content = content
        var hasher = Hasher()
        switch content {
        case .fetch(let url, let rest):
            hasher.combine(url)
            unsafe rest.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        case .decode(let fetch, let options):
            hasher.combine(fetch.hash)
            hasher.combine(options)
        case .process(let decode, let identities):
            hasher.combine(decode.hash)
            hasher.combine(identities)
        }
        hash = hasher.finalize()
    }

    static func == (left: JobKey, right: JobKey) -> Bool {
        if left === right { return true }
        return left.hash == right.hash && left.content == right.content
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}
