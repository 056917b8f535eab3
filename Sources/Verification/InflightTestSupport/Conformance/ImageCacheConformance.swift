internal import Dispatch
internal import InflightConcurrency
public import InflightCore

/// Checks that any image cache fulfils the contract of ``ImageCaching``.
///
/// ```swift
/// let failures = await ImageCacheConformance { MyCache(limit: $0) }.run()
/// ```
///
/// It needs no test framework: failures are returned as values.
public struct ImageCacheConformance: Sendable {
    typealias Maker = @Sendable (Int) -> any ImageCaching

    private let makeCache: Maker

    /// Creates the suite for one kind of cache.
    ///
    /// - Parameter makeCache: returns an empty cache with a limit in bytes for all its images.
    public init(_ makeCache: @escaping @Sendable (Int) -> any ImageCaching) {
        self.makeCache = makeCache
    }

    /// All checks, in a fixed order.
    public static var checks: [ConformanceCheck] { list.checks }

    /// Runs one check.
    ///
    /// - Parameter check: one of ``checks``. A check of another suite traps.
    /// - Returns: the violations; empty if the rule holds.
    public func run(_ check: ConformanceCheck) async -> [ConformanceFailure] {
        await ValueBench(makeCache).run(check, Self.list.body(of: check))
    }

    /// Runs all checks, one after the other. Returns their violations; empty if all rules hold.
    public func run() async -> [ConformanceFailure] {
        var failures: [ConformanceFailure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    private static let limit = 1 << 20
    /// The cost of one of the images.
    private static let cost = 32 * 32 * 4

    private static func makeImage(_ mark: Int, released: (@Sendable () -> Void)? = nil) -> LoadedImage {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: cost, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: mark))
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(memory)) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
            released?()
        }
        return LoadedImage(
            pixels: PixelBuffer(width: 32, height: 32, bytesPerRow: 128, format: .rgba, bytes: bytes),
            info: ImageInfo(format: .png, storedWidth: 32, storedHeight: 32), head: ResponseHead(status: 200),
            url: "\(mark)", bodyBytes: 0, wireBytes: 0, source: .network)
    }

    private static func key(_ number: Int) -> ImageCacheKey { ImageCacheKey(named: "image \(number)") }

    private static let list = CheckList<ValueBench<Maker>>([
        (
            "A stored image is found by its key until it is replaced or removed",
            { bench in
                let cache = bench.subject(limit)
                bench.expect(cache.image(for: key(1)) == nil, "a new cache is not empty")
                cache.store(makeImage(1), for: key(1))
                cache.store(makeImage(2), for: key(2))
                bench.expect(cache.image(for: key(1))?.url == "1", "the first is not found")
                bench.expect(cache.image(for: key(2))?.url == "2", "the second is not found")
                cache.store(makeImage(3), for: key(1))
                bench.expect(cache.image(for: key(1))?.url == "3", "the first was not replaced")
                cache.remove(key(1))
                cache.remove(key(7))
                bench.expect(cache.image(for: key(1)) == nil, "a removed image is found")
                bench.expect(cache.image(for: key(2)) != nil, "removing an image removed another one")
                cache.removeAll()
                bench.expect(cache.image(for: key(2)) == nil, "an image is found after all were removed")
                cache.store(makeImage(4), for: key(2))
                bench.expect(cache.image(for: key(2))?.url == "4", "an image stored after removeAll() is not found")
            }
        ),
        (
            "The cost never exceeds the limit, and trimming reduces it to the given cost",
            { bench in
                let cache = bench.subject(20 * cost)
                for number in 0..<100 {
                    cache.store(makeImage(number), for: key(number))
                    bench.expect(cache.statistics.cost <= 20 * cost, "the cost is \(cache.statistics.cost) bytes")
                }
                let found = (0..<100).count { cache.image(for: key($0)) != nil }
                bench.expect(found <= 20, "\(found) images are found")
                cache.trim(to: 3 * cost)
                bench.expect(
                    cache.statistics.cost <= 3 * cost, "the cost is \(cache.statistics.cost) bytes after trimming")
                cache.trim(to: 0)
                bench.expect(
                    (0..<100).allSatisfy { cache.image(for: key($0)) == nil }, "an image is found after trimming to 0")
            }
        ),
        (
            "The statistics count images, cost, insertions, hits and misses",
            { bench in
                let cache = bench.subject(limit)
                for number in 0..<3 { cache.store(makeImage(number), for: key(number)) }
                _ = cache.image(for: key(0))
                _ = cache.image(for: key(9))
                let statistics = cache.statistics
                bench.expect(statistics.count == 3 && statistics.cost == 3 * cost, "\(statistics)")
                bench.expect(
                    statistics.hits == 1 && statistics.misses == 1 && statistics.insertions == 3, "\(statistics)")
                cache.removeAll()
                bench.expect(cache.statistics.count == 0 && cache.statistics.cost == 0, "\(cache.statistics)")
            }
        ),
        (
            "Replaced, evicted and removed images are released with no lock held, so the cache can be called",
            { bench in
                let cache = bench.subject(10 * cost)
                let (released, stuck) = (Guarded(0), Guarded([JoinableThread]()))
                for number in 0..<50 {
                    cache.store(
                        makeImage(number) {
                            released.withLock { $0 += 1 }
                            guard stuck.withLock(\.isEmpty) else { return }
                            // Call the cache on another thread, so that a held lock does not block this one.
                            let answered = DispatchSemaphore(value: 0)
                            let thread = JoinableThread(name: "conformance") {
                                _ = cache.statistics
                                answered.signal()
                            }
                            if answered.wait(timeout: .now() + .seconds(5)) == .timedOut {
                                stuck.withLock { $0.append(thread) }
                            } else {
                                thread.join()
                            }
                        }, for: key(number % 30))
                }
                cache.trim(to: cost)
                cache.remove(key(1))
                cache.removeAll()
                let late = stuck.withLock { $0 }
                bench.expect(late.isEmpty, "an image was released with a lock held")
                for thread in late { thread.join() }
                bench.expect(released.withLock { $0 } == 50, "\(released.withLock { $0 }) of 50 were released")
            }
        ),
        (
            "Concurrent lookups return the image stored for their key or nil",
            { bench in
                let cache = bench.subject(40 * cost)
                bench.atOnce(8) { thread in
                    var generator = SeededGenerator(seed: UInt64(thread))
                    for _ in 0..<2000 {
                        let number = Int.random(in: 0..<60, using: &generator)
                        switch Int.random(in: 0..<10, using: &generator) {
                        case 0..<5:
                            guard let found = cache.image(for: key(number)) else { continue }
                            bench.expect(found.url == "\(number)", "\(found.url) was found for \(number)")
                        case 5..<8: cache.store(makeImage(number), for: key(number))
                        case 8: cache.remove(key(number))
                        default: cache.trim(to: 20 * cost)
                        }
                    }
                }
                bench.expect(cache.statistics.cost <= 40 * cost, "the cost is \(cache.statistics.cost) bytes")
            }
        ),
    ])
}
