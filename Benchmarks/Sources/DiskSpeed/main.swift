import BenchmarkSupport
import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport

// Measures the disk cache alone.
//
//     DiskSpeed write FOLDER COUNT BYTES [--at-once N]   store bodies, until each is acknowledged
//     DiskSpeed read FOLDER COUNT BYTES [--at-once N] [--reads N]
//                                                        store bodies, then read them in random order
//     DiskSpeed evict FOLDER COUNT BYTES                 read while storing COUNT bodies causes eviction
//     DiskSpeed fill FOLDER COUNT                        create a cache with COUNT entries of 16 bytes, for `open`
//     DiskSpeed open FOLDER                              measure time and memory up to the first lookup

let options = Options(usage: "DiskSpeed write|read|evict|fill|open FOLDER [COUNT BYTES] [--at-once N]")
let what = options.value(0)
let folder = options.value(1) + "/cache"
let atOnce = options.number("--at-once", default: 1)

func store(limit: Int64) -> DiskStore {
    DiskStore(.init(folder: folder, limit: limit) { event in print("\(event)") })
}

func url(_ number: Int) -> String { "http://bench/\(number)" }

func response(_ number: Int, _ count: Int) -> StoredResponse {
    StoredResponse(
        method: "GET", url: url(number), varyFields: HTTPFields(),
        head: ResponseHead(
            status: 200,
            fields: HTTPFields([
                (name: "Content-Type", value: "image/jpeg"), (name: "Cache-Control", value: "max-age=86400"),
                (name: "ETag", value: "\"0123456789abcdef\""), (name: "Date", value: "Tue, 14 Nov 2023 22:13:20 GMT"),
            ])), requestTime: WallTime(milliseconds: 1_700_000_000_000),
        responseTime: WallTime(milliseconds: 1_700_000_000_100), bodyRange: 0..<Int64(count), totalLength: Int64(count))
}

func body(_ count: Int) -> Bytes {
    var generator = SystemRandomNumberGenerator()
    return Bytes((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
}

/// Runs `count` calls, at most `atOnce` at a time, and returns when all have called back.
func inTurns(_ count: Int, atOnce: Int, _ call: @escaping @Sendable (Int, @escaping @Sendable () -> Void) -> Void) async
{
    let next = Guarded(0)
    let left = Guarded(count)
    let bridge = Bridge()
    @Sendable func start() {
        let number = next.withLock { next in
            defer { next += 1 }
            return next
        }
        guard number < count else { return }
        call(number) {
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { bridge.open() } else { start() }
        }
    }
    for _ in 0..<atOnce { start() }
    await bridge.wait()
}

func keep(_ store: DiskStore, _ count: Int, _ bytes: Bytes, atOnce: Int, lost: Guarded<Int> = Guarded(0)) async {
    await inTurns(count, atOnce: atOnce) { number, done in
        let key = StoreKey(url(number))
        store.keep(response(number, bytes.count), body: bytes, under: key, replacing: []) { id in
            if id == nil { lost.withLock { $0 += 1 } }
            done()
        }
    }
}

/// Reads `count` random entries of the first `among`. Returns the sorted times in seconds, and the number of misses.
func read(_ store: DiskStore, _ count: Int, among: Int, atOnce: Int) async -> (times: [Double], missed: Int) {
    let times = Guarded<[Double]>([])
    let missed = Guarded(0)
    // Not the system's generator, because that calls the kernel for each number.
    let random = Guarded(SeededGenerator(seed: 1))
    await inTurns(count, atOnce: atOnce) { _, done in
        let start = ContinuousClock.now
        let key = StoreKey(url(random.withLock { Int.random(in: 0..<among, using: &$0) }))
        store.find(key, choose: { $0.isEmpty ? nil : 0 }) { _, body in
            if body == nil { missed.withLock { $0 += 1 } }
            let time = (ContinuousClock.now - start) / .seconds(1)
            times.withLock { $0.append(time) }
            done()
        }
    }
    return (times.withLock { $0.sorted() }, missed.withLock { $0 })
}

func residentBytes() -> Int {
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    unsafe fgets(&line, 256, file)
    let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
        separator: " ")
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 4096
}

var sample = Sample()
switch what {
case "write", "read":
    let count = options.number(2)
    let bytes = body(options.number(3))
    let store = store(limit: Int64(count * (bytes.count + 8192)) * 2 + (16 << 20))
    _ = await store.find(StoreKey("nothing"), choose: { _ in nil })
    let lost = Guarded(0)
    let before = Usage.now()
    await keep(store, count, bytes, atOnce: what == "write" ? atOnce : 64, lost: lost)
    if what == "write" {
        let used = Usage.now() - before
        sample.add("each_us", used.wall / Double(count) * 1e6)
        sample.add("cpu_us", used.cpu / Double(count) * 1e6)
        sample.add("lost", lost.withLock { $0 })
    } else {
        _ = await read(store, count / 4, among: count, atOnce: atOnce)
        let start = Usage.now()
        let reads = options.number("--reads", default: count)
        let found = await read(store, reads, among: count, atOnce: atOnce)
        let used = Usage.now() - start
        sample.add("each_us", used.wall / Double(reads) * 1e6)
        sample.add("cpu_us", used.cpu / Double(reads) * 1e6)
        sample.add("missed", found.missed)
    }
    await store.shutdown()
case "evict":
    let count = options.number(2)
    let bytes = body(options.number(3))
    let hot = body(30_000)
    let store = store(limit: 150_000_000)
    await keep(store, 200, hot, atOnce: 8)
    for _ in 0..<8 { _ = await read(store, 400, among: 200, atOnce: 8) }
    let isDone = Guarded(false)
    let start = Usage.now().wall
    let writing = Task {
        await inTurns(count, atOnce: 8) { number, done in
            let key = StoreKey("http://cold/\(number)")
            store.keep(response(number, bytes.count), body: bytes, under: key, replacing: []) { _ in done() }
        }
        isDone.withLock { $0 = true }
    }
    var times: [Double] = []
    var missed = 0
    while !isDone.withLock({ $0 }) {
        let found = await read(store, 200, among: 200, atOnce: 1)
        times += found.times
        missed += found.missed
    }
    await writing.value
    times.sort()
    sample.add("hits", times.count)
    sample.add("missed", missed)
    sample.add("p50_ms", times[times.count / 2] * 1000)
    sample.add("p99_ms", times[times.count * 99 / 100] * 1000)
    sample.add("mb_s", Double(count * bytes.count) / 1e6 / (Usage.now().wall - start))
    await store.shutdown()
case "fill":
    let store = store(limit: 4 << 30)
    await keep(store, options.number(2), body(16), atOnce: 64)
    await store.shutdown()
    sample.add("entries", options.number(2))
case "open":
    let memory = residentBytes()
    let start = Usage.now().wall
    let store = store(limit: 4 << 30)
    let found = await store.find(StoreKey(url(77)), choose: { $0.isEmpty ? nil : 0 })
    sample.add("open_ms", (Usage.now().wall - start) * 1000)
    sample.add("found", found.count)
    sample.add("mb", Double(residentBytes() - memory) / 1e6)
    await store.shutdown()
default:
    print("Unknown measurement '\(what)'.")
    exit(64)
}
sample.printAndExit()

extension DiskStore {
    func find(_ key: StoreKey, choose: @escaping @Sendable ([StoredEntry]) -> Int?) async -> [StoredEntry] {
        let bridge = ValueBridge<[StoredEntry]>()
        find(key, choose: choose) { found, _ in bridge.open(with: found) }
        return await bridge.value()
    }
}
