/// The hits that are possible with knowledge of all future requests.
///
/// With equal costs this is Belady's optimum: it evicts the key whose next request is farthest away, which may be the
/// new one. With unequal costs the optimum is NP-hard. Two approximations take its place: the same rule, which favours
/// bytes, and distance times cost, which favours objects. The table shows the better one for each ratio.
struct Belady {
    let weighsCost: Bool

    func hits(of trace: Trace, limit: Int) -> (objects: Int, cost: Int) {
        let nextUse = Self.nextUses(of: trace)
        var residents: [Int] = []
        var place = [Int](repeating: -1, count: trace.keyCount)
        var next = [Int](repeating: .max, count: trace.keyCount)
        var costs = [Int](repeating: 0, count: trace.keyCount)
        var used = 0
        var hits = (objects: 0, cost: 0)

        func remove(_ key: Int) {
            let hole = place[key]
            let last = residents.removeLast()
            if last != key {
                residents[hole] = last
                place[last] = hole
            }
            place[key] = -1
            used -= costs[key]
        }

        for (time, request) in trace.requests.enumerated() {
            let key = request.key
            next[key] = nextUse[time]
            if place[key] >= 0 {
                hits.objects += 1
                hits.cost += request.cost
            } else {
                costs[key] = request.cost
                place[key] = residents.count
                residents.append(key)
                used += request.cost
            }
            while used > limit || (place[key] >= 0 && next[key] == .max) {
                if next[key] == .max, place[key] >= 0 {
                    remove(key)
                    continue
                }
                var worst = (key: -1, value: -1.0)
                for resident in residents {
                    let distance = next[resident] == .max ? 1e12 : Double(next[resident] - time)
                    let value = weighsCost ? distance * Double(costs[resident]) : distance
                    if value > worst.value { worst = (resident, value) }
                }
                remove(worst.key)
            }
        }
        return hits
    }

    private static func nextUses(of trace: Trace) -> [Int] {
        var result = [Int](repeating: .max, count: trace.requests.count)
        var seen = [Int](repeating: .max, count: trace.keyCount)
        for time in trace.requests.indices.reversed() {
            result[time] = seen[trace.requests[time].key]
            seen[trace.requests[time].key] = time
        }
        return result
    }
}
