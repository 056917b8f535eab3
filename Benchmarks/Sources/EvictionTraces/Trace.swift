import Glibc

/// A sequence of requests, each for a key with a cost in bytes. A key's cost never changes.
struct Trace {
    struct Request {
        var key: Int
        var cost: Int
    }

    let name: String
    let limit: Int
    let keyCount: Int
    let requests: [Request]

    /// Returns all traces. Images are 256 × 256 pixels unless a trace states another size.
    static func all(seed: UInt64) -> [Trace] {
        [
            gallery(seed: seed), feed(seed: seed), scan(seed: seed), loop(), drift(seed: seed), sizes(seed: seed),
        ]
    }

    private static let thumbnail = 256 * 256 * 4

    /// A user scrolls a gallery of 4,000 images in four columns: down for a while, part of the way back up, sometimes
    /// to the top. After 8 % of these moves the user opens an image at 1600 × 1200 pixels, and returns to the same
    /// position. An image is requested when its row comes into view.
    private static func gallery(seed: UInt64) -> Trace {
        var random = SplitMix64(seed: seed)
        let (count, columns, screen) = (4000, 4, 6)
        let rows = count / columns
        let large = 1600 * 1200 * 4
        var requests: [Request] = []
        func show(row: Int) {
            for column in 0..<columns { requests.append(Request(key: row * columns + column, cost: thumbnail)) }
        }
        var top = 0
        for row in 0..<screen { show(row: row) }
        func scroll(by distance: Int) {
            for _ in 0..<abs(distance) {
                if distance > 0 {
                    guard top + screen < rows else { return }
                    show(row: top + screen)
                    top += 1
                } else {
                    guard top > 0 else { return }
                    top -= 1
                    show(row: top)
                }
            }
        }
        while requests.count < 200_000 {
            let choice = random.unit()
            if choice < 0.55 {
                scroll(by: screen + random.below(20 * screen))
            } else if choice < 0.93 {
                scroll(by: -(screen + random.below(14 * screen)))
            } else {
                // The jump to the top shows the first screen alone.
                top = 0
                for row in 0..<screen { show(row: row) }
            }
            if random.unit() < 0.08 {
                let picture = top * columns + random.below(screen * columns)
                requests.append(Request(key: count + picture, cost: large))
                for row in top..<top + screen { show(row: row) }
            }
        }
        return Trace(name: "gallery", limit: 128 << 20, keyCount: 2 * count, requests: requests)
    }

    /// A feed: 20,000 images, requested by Zipf's law with exponent 0.9.
    private static func feed(seed: UInt64) -> Trace {
        var random = SplitMix64(seed: seed &+ 1)
        let zipf = Zipf(count: 20_000, exponent: 0.9)
        let requests = (0..<300_000).map { _ in Request(key: zipf.draw(&random), cost: thumbnail) }
        return Trace(name: "Zipf feed", limit: 256 << 20, keyCount: 20_000, requests: requests)
    }

    /// A working set of 2,000 images, requested by Zipf's law. Every 20,000 requests a scan requests 3,000 other images
    /// once.
    private static func scan(seed: UInt64) -> Trace {
        var random = SplitMix64(seed: seed &+ 2)
        let zipf = Zipf(count: 2000, exponent: 0.8)
        var requests: [Request] = []
        var fresh = 2000
        for round in 0..<15 {
            for _ in 0..<20_000 { requests.append(Request(key: zipf.draw(&random), cost: thumbnail)) }
            guard round < 14 else { break }
            for _ in 0..<3000 {
                requests.append(Request(key: fresh, cost: thumbnail))
                fresh += 1
                if random.unit() < 0.5 { requests.append(Request(key: zipf.draw(&random), cost: thumbnail)) }
            }
        }
        return Trace(name: "scan over Zipf", limit: 256 << 20, keyCount: fresh, requests: requests)
    }

    /// A slide show that repeats, with a tenth more images than fit into the cache.
    private static func loop() -> Trace {
        let limit = 128 << 20
        let count = limit / thumbnail * 11 / 10
        let requests = (0..<count * 200).map { Request(key: $0 % count, cost: thumbnail) }
        return Trace(name: "loop of 1.1", limit: limit, keyCount: count, requests: requests)
    }

    /// News: the newest images are requested most. Every 40 requests a new image appears, and the others age by one.
    private static func drift(seed: UInt64) -> Trace {
        var random = SplitMix64(seed: seed &+ 4)
        let zipf = Zipf(count: 3000, exponent: 0.7)
        var requests: [Request] = []
        var newest = 3000
        for time in 0..<300_000 {
            if time % 40 == 39 { newest += 1 }
            requests.append(Request(key: newest - 1 - zipf.draw(&random), cost: thumbnail))
        }
        return Trace(name: "news", limit: 128 << 20, keyCount: newest, requests: requests)
    }

    /// Like the feed, but with 10,000 images of 64 × 64 to about 1400 × 1400 pixels. The logarithm of the cost is
    /// uniformly distributed.
    private static func sizes(seed: UInt64) -> Trace {
        var random = SplitMix64(seed: seed &+ 5)
        let count = 10_000
        let zipf = Zipf(count: count, exponent: 0.9)
        let costs = (0..<count).map { _ in Int(16_384 * exp(random.unit() * log(480))) }
        let requests = (0..<300_000).map { _ in
            let key = zipf.draw(&random)
            return Request(key: key, cost: costs[key])
        }
        return Trace(name: "many sizes", limit: 512 << 20, keyCount: count, requests: requests)
    }
}

/// A distribution over `0 ..< count` in which k has the weight 1 / (k + 1) ^ exponent.
struct Zipf {
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += 1 / pow(Double(rank), exponent)
            return sum
        }
    }

    func draw(_ random: inout SplitMix64) -> Int {
        let wanted = random.unit() * (sums.last ?? 0)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
