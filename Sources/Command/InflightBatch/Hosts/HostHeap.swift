/// A minimum heap of hosts by key, in which each host is at most once, and can be moved and removed.
///
/// Insertion, change and removal take logarithmic time in the number of hosts. Hosts are small numbers.
struct HostHeap<Key: Comparable & Sendable>: Sendable {
    private var entries: [(key: Key, host: Int)] = []
    /// The place of each host in `entries`, or -1.
    private var places: [Int] = []

    /// The host with the least key, if any.
    var first: (key: Key, host: Int)? { entries.first }
    /// The number of hosts.
    var count: Int { entries.count }

    /// Inserts a host, changes its key, or removes it if `key` is nil.
    mutating func set(_ key: Key?, of host: Int) {
        while places.count <= host { places.append(-1) }
        let place = places[host]
        switch (key, place) {
        case (nil, -1): break
        case (nil, _): remove(at: place)
        case (let key?, -1):
            entries.append((key, host))
            places[host] = entries.count - 1
            siftUp(entries.count - 1)
        case (let key?, _):
            guard entries[place].key != key else { return }
            entries[place].key = key
            siftDown(place)
            siftUp(place)
        }
    }

    private mutating func remove(at place: Int) {
        places[entries[place].host] = -1
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.host] = place
        siftDown(place)
        siftUp(place)
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0, entries[place].key < entries[(place - 1) / 2].key {
            exchange(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].key < entries[least].key {
                least = child
            }
            guard least != place else { return }
            exchange(place, least)
            place = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        places[entries[left].host] = left
        places[entries[right].host] = right
    }
}
