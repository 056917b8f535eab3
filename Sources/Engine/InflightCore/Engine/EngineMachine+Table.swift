// The live job of each key: a hash table whose chains run through the job slots, by the hashes that the keys carry.
// Nothing is hashed under the engine's lock, and a job needs no entry of its own.

extension EngineMachine {
    private func bucket(_ hash: Int) -> Int {
        hash & (buckets.count - 1)
    }

    /// Returns the live job for this key, or -1.
    func liveJob(_ key: JobKey) -> Int32 {
        var index = buckets[bucket(key.hash)]
        while index >= 0, jobs[Int(index)].key != key { index = jobs[Int(index)].nextInBucket }
        return index
    }

    mutating func enterTable(_ index: Int32, hash: Int) {
        // `jobCount` includes jobs that have left the table. They make no chain longer.
        if jobCount >= buckets.count { growTable() }
        let bucket = bucket(hash)
        jobs[Int(index)].nextInBucket = buckets[bucket]
        buckets[bucket] = index
    }

    /// Removes the job, so that no new task joins it. Does nothing if it has left before.
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
