// Which live job a key has: a hash table whose chains run through the slots of the jobs themselves, by the hashes that
// the keys bring along. Nothing is hashed under the engine's lock, and a job costs no entry of its own.

extension EngineMachine {
    private func bucket(_ hash: Int) -> Int {
        hash & (buckets.count - 1)
    }

    /// The job that is alive for this key, or -1.
    func liveJob(_ key: JobKey) -> Int32 {
        var index = buckets[bucket(key.hash)]
        while index >= 0, jobs[Int(index)].key != key { index = jobs[Int(index)].nextInBucket }
        return index
    }

    mutating func enterTable(_ index: Int32, hash: Int) {
        // `jobCount` counts those too that have left the table: the chains are no longer for them.
        if jobCount >= buckets.count { growTable() }
        let bucket = bucket(hash)
        jobs[Int(index)].nextInBucket = buckets[bucket]
        buckets[bucket] = index
    }

    /// Nobody new joins the job. Nothing where it has left before.
    mutating func leaveTable(_ index: Int32) {
        guard let hash = jobs[Int(index)].key?.hash else { return }
        let bucket = bucket(hash)
        let next = jobs[Int(index)].nextInBucket
        if buckets[bucket] == index {
            buckets[bucket] = next
            return
        }
        var previous = buckets[bucket]
        while previous >= 0 {
            let following = jobs[Int(previous)].nextInBucket
            if following == index {
                jobs[Int(previous)].nextInBucket = next
                return
            }
            previous = following
        }
    }

    private mutating func growTable() {
        let old = buckets
        buckets = [Int32](repeating: -1, count: old.count * 2)
        for first in old {
            var index = first
            while index >= 0, let hash = jobs[Int(index)].key?.hash {
                let following = jobs[Int(index)].nextInBucket
                let bucket = bucket(hash)
                jobs[Int(index)].nextInBucket = buckets[bucket]
                buckets[bucket] = index
                index = following
            }
        }
    }
}
