import InflightCore

// HTTP's rules for serving from memory, written from RFC 9111 and from Documentation/Caching.md.

extension ContractModel {
    /// The response that images in memory were made of. All images of one response share this value.
    struct Life {
        var copy: StoredCopy
        var isSuperseded = false

        var mayBeKept: Bool { !copy.head.noStore }

        /// The time in milliseconds for which images are served from memory; five minutes if the server states none.
        private var lifetime: Int64 {
            let head = copy.head
            let isUnstated = head.maxAge == nil && head.lastModified == nil && !head.mustRevalidate
            return isUnstated && (head.status == 200 || head.status == 404) ? 300_000 : copy.lifetime
        }

        func isFresh(at now: Int64) -> Bool {
            !isSuperseded && mayBeKept && !copy.head.noCache
                && now < copy.responseTime + lifetime - copy.age(at: copy.responseTime)
        }

        var allowsStale: Bool { !isSuperseded && mayBeKept && !copy.head.noCache && !copy.head.mustRevalidate }

        /// Returns whether images of the older response are also those of `newer`.
        func isSame(as newer: StoredCopy, _ source: LoadSource) -> Bool {
            let (old, new) = (copy.head, newer.head)
            if source == .network {
                guard old.hasTag else {
                    return !new.hasTag && old.hasStrongValidator && old.lastModified == new.lastModified
                }
                return new.hasTag && !old.isWeak && !new.isWeak && old.version == new.version
            }
            if new.hasTag || old.hasTag { return new.hasTag && old.hasTag && new.version == old.version }
            if (newer.requestTime, newer.responseTime) == (copy.requestTime, copy.responseTime) { return true }
            return new.lastModified != nil && new.lastModified == old.lastModified
        }
    }

    /// An image in memory.
    struct Kept {
        var exchange: Int
        /// The index of the response, or -1 if HTTP's rules do not apply.
        var life: Int
        /// Whether a redirect that must not be reused led to the image.
        var isRedirected: Bool
    }

    /// The resource whose newest response is recorded.
    struct Resource: Hashable {
        var name: String
        var isOfCaller: Bool
        var hasProof: Bool
        var isUnsafe: Bool
        var language: UInt8
    }

    /// Returns the usable image in memory, finished or the longest prefix, and the number of its last stage.
    func findInMemory(_ wish: Wish, varied: Bool) -> (kept: Kept, stage: Int, isStale: Bool)? {
        guard wish.mayBeInMemory else { return nil }
        for stage in (1..<wish.stages).reversed() {
            guard let image = kept[wish.memoryKey(stage: stage, varied: varied)] else { continue }
            if isFresh(image) { return (image, stage, false) }
            if wish.policy == .preferCached, lives[image.life].allowsStale { return (image, stage, true) }
        }
        return nil
    }

    func isFresh(_ image: Kept) -> Bool {
        image.life < 0 || !image.isRedirected && lives[image.life].isFresh(at: wallTime)
    }

    private func resource(of job: Int) -> Resource {
        let wish = jobs[job].wish
        return Resource(
            name: key(of: job), isOfCaller: wish.isOfCaller, hasProof: jobs[job].hasCredentials,
            isUnsafe: wish.isUnsafe && jobs[job].redirects == 0, language: jobs[job].isVaried ? wish.language : 0)
    }

    /// A job has a response, which affects the images made of it and of older responses.
    func noteLife(of copy: StoredCopy?, _ job: Int, from source: LoadSource) {
        jobs[job].life = -1
        guard let copy, jobs[job].wish.source == .none, jobs[job].wish.kind != .header else { return }
        let resource = resource(of: job)
        let makesImage =
            jobs[job].wish.kind == .picture || jobs[job].wish.purpose == .behindPicture
            || waiting.contains { waits($0, for: job) && tasks[$0].wish.kind == .picture }
        let old = newest[resource]
        if !makesImage, old == nil || source == .disk { return }
        let life = Life(copy: copy)
        lives.append(life)
        jobs[job].life = lives.count - 1
        guard let old else {
            if life.mayBeKept { newest[resource] = jobs[job].life }
            return
        }
        let isNewer = source != .disk || copy.responseTime > lives[old].copy.responseTime
        if life.mayBeKept, lives[old].mayBeKept, !lives[old].isSuperseded, lives[old].isSame(as: copy, source) {
            if isNewer { lives[old].copy = copy }
            jobs[job].life = old
        } else if isNewer {
            lives[old].isSuperseded = true
            newest[resource] = jobs[job].life
        } else {
            lives[lives.count - 1].isSuperseded = true
        }
    }

    /// The head of a response is about to be delivered. Resources that are gone or changed are not served from memory.
    public func answers(_ serial: Int, status: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].headTime = wallTime
        exchanges[index].status = status
        let job = exchanges[index].job
        // A shutdown cancels the exchanges one after the other. A head that arrives meanwhile counts.
        guard job >= 0, isLive(job) || isStopped && !exchanges[index].isCancelled else { return }
        let resource = resource(of: job)
        for (other, life) in newest {
            let isGone = status == 404 && other == resource
            let isChanged = resource.isUnsafe && (200..<400).contains(status) && other.name == resource.name
            if isGone || isChanged { lives[life].isSuperseded = true }
        }
    }

    /// A hook may give a response another status.
    public func answerCounts(_ serial: Int, as status: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].status = status
    }

    /// Returns the response of an exchange if there is no store.
    func plainCopy(_ record: ExchangeRecord) -> StoredCopy {
        StoredCopy(
            id: -1, key: "", head: AnswerHead(status: record.status, version: record.serial), isOfCaller: false,
            hasProof: false, requestTime: record.requestTime, responseTime: record.headTime, end: 0, total: nil)
    }
}

extension ContractModel.JobRecord {
    /// Sets the job's content to an image from memory.
    mutating func begins(with image: ContractModel.Kept, isStale: Bool) {
        (exchange, source, self.isStale, life) = (image.exchange, .memory, isStale, image.life)
        redirects = image.isRedirected ? 1 : 0
    }
}
