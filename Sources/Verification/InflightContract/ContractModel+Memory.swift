import InflightCore

// HTTP's rules for serving from memory, written from RFC 9111 and from Documentation/Caching.md.

extension ContractModel {
    /// The response that images in memory were made of. All images of one response share this value.
    struct CachedResponse {
        var copy: StoredCopy
        var isSuperseded = false

        var mayBeStored: Bool { !copy.head.noStore }

        /// The time in milliseconds for which images are served from memory; five minutes if the server states none.
        private var lifetime: Int64 {
            let head = copy.head
            let isUnstated = head.maxAge == nil && head.lastModified == nil && !head.mustRevalidate
            return isUnstated && (head.status == 200 || head.status == 404) ? 300_000 : copy.lifetime
        }

        func isFresh(at now: Int64) -> Bool {
            !isSuperseded && mayBeStored && !copy.head.noCache
                && now < copy.responseTime + lifetime - copy.age(at: copy.responseTime)
        }

        var allowsStale: Bool { !isSuperseded && mayBeStored && !copy.head.noCache && !copy.head.mustRevalidate }

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
    struct CachedImage {
        var exchange: Int
        /// The index of the response, or -1 if HTTP's rules do not apply.
        var response: Int
        /// Whether a redirect that must not be reused led to the image.
        var isRedirected: Bool
    }

    /// The resource whose newest response is recorded.
    struct Resource: Hashable {
        var name: String
        var isOfCaller: Bool
        var hasCredentials: Bool
        var isUnsafe: Bool
        var language: UInt8
    }

    /// Returns the usable image in memory, finished or the longest prefix, and the number of its last stage.
    func findInMemory(_ spec: RequestSpec, varied: Bool) -> (kept: CachedImage, stage: Int, isStale: Bool)? {
        guard spec.mayBeInMemory else { return nil }
        for stage in (1..<spec.stages).reversed() {
            guard let image = kept[spec.memoryKey(stage: stage, varied: varied)] else { continue }
            if isFresh(image) { return (image, stage, false) }
            if spec.policy == .preferCached, responses[image.response].allowsStale { return (image, stage, true) }
        }
        return nil
    }

    func isFresh(_ image: CachedImage) -> Bool {
        image.response < 0 || !image.isRedirected && responses[image.response].isFresh(at: wallTime)
    }

    private func resource(of job: Int) -> Resource {
        let spec = jobs[job].spec
        return Resource(
            name: key(of: job), isOfCaller: spec.isOfCaller, hasCredentials: jobs[job].hasCredentials,
            isUnsafe: spec.isUnsafe && jobs[job].redirects == 0, language: jobs[job].isVaried ? spec.language : 0)
    }

    /// A job has a response, which affects the images made of it and of older responses.
    func recordResponse(of copy: StoredCopy?, _ job: Int, from source: LoadSource) {
        jobs[job].response = -1
        guard let copy, jobs[job].spec.source == .none, jobs[job].spec.kind != .header else { return }
        let resource = resource(of: job)
        let makesImage =
            jobs[job].spec.kind == .image || jobs[job].spec.purpose == .imageRevalidation
            || waiting.contains { waits($0, for: job) && tasks[$0].spec.kind == .image }
        let old = newest[resource]
        if !makesImage, old == nil || source == .disk { return }
        let response = CachedResponse(copy: copy)
        responses.append(response)
        jobs[job].response = responses.count - 1
        guard let old else {
            if response.mayBeStored { newest[resource] = jobs[job].response }
            return
        }
        let isNewer = source != .disk || copy.responseTime > responses[old].copy.responseTime
        if response.mayBeStored, responses[old].mayBeStored, !responses[old].isSuperseded,
            responses[old].isSame(as: copy, source)
        {
            if isNewer { responses[old].copy = copy }
            jobs[job].response = old
        } else if isNewer {
            responses[old].isSuperseded = true
            newest[resource] = jobs[job].response
        } else {
            responses[responses.count - 1].isSuperseded = true
        }
    }

    /// The head of a response is about to be delivered. Resources that are gone or changed are not served from memory.
    public func responseBegins(_ serial: Int, status: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].headTime = wallTime
        exchanges[index].status = status
        let job = exchanges[index].job
        // The last subscriber may have left, or a shutdown begun. A head counts until the exchange itself is cancelled.
        guard job >= 0, isLive(job) || !exchanges[index].isCancelled else { return }
        let resource = resource(of: job)
        for (other, response) in newest {
            let isGone = status == 404 && other == resource
            let isChanged = resource.isUnsafe && (200..<400).contains(status) && other.name == resource.name
            if isGone || isChanged { responses[response].isSuperseded = true }
        }
    }

    /// A hook may give a response another status.
    public func statusIsRewritten(_ serial: Int, as status: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].status = status
    }

    /// Returns the response of an exchange if there is no store.
    func plainCopy(_ record: ExchangeRecord) -> StoredCopy {
        StoredCopy(
            id: -1, key: "", head: ServerHead(status: record.status, version: record.serial), isOfCaller: false,
            hasCredentials: false, requestTime: record.requestTime, responseTime: record.headTime, end: 0, total: nil)
    }
}

extension ContractModel.JobRecord {
    /// Sets the job's content to an image from memory.
    mutating func begins(with image: ContractModel.CachedImage, isStale: Bool) {
        (exchange, source, self.isStale, response) = (image.exchange, .memory, isStale, image.response)
        redirects = image.isRedirected ? 1 : 0
    }
}
