import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport

/// A cache that is filled, copied while open as a kill would leave it, damaged, and checked. The seed determines all of
/// it.
struct DamagedCache {
    private let kind: DamageKind
    private var random: SeededGenerator
    private let scratch: String
    private var items: [Item] = []
    private(set) var failures: [String] = []
    private(set) var found = 0

    private struct Item {
        let url: String
        /// The versions of the entry's body, the newest last.
        var versions: [Bytes] = []
        var isRemoved = false
        var isPart = false
        /// Whether the entry was changed after the log began.
        var isChanged = false

        var newest: Bytes { versions[versions.count - 1] }
        var isLong: Bool { newest.count > 65536 }
    }

    private static let limit: Int64 = 24 << 20
    private static let date = 1_700_000_000.0

    init(seed: UInt64) {
        kind = DamageKind.of(seed)
        random = SeededGenerator(seed: seed &* 7_919)
        scratch = Scratch.make(in: unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
    }

    var all: Int { items.count { !$0.isRemoved } }

    mutating func run() async {
        defer { Scratch.remove(scratch) }
        let folder = scratch + "/cache"
        await fill(scratch + "/filled", into: folder)
        let allowance = await damage(folder)
        await look(folder, allowance)
    }

    // MARK: Filling

    private func store(
        _ folder: String, date: Double = date, onEvent: (@Sendable (DiskStore.Event) -> Void)? = nil
    ) -> DiskStore {
        DiskStore(.init(folder: folder, limit: Self.limit, clock: VirtualClock(date: date), onEvent: onEvent))
    }

    /// Fills a cache, and copies it while it is open.
    private mutating func fill(_ folder: String, into copy: String) async {
        let first = store(folder)
        for number in 0..<24 { await add(number, to: first) }
        // After the shutdown all entries are in the index, and the log is empty.
        await first.shutdown()
        let second = store(folder)
        for number in 24..<32 { await add(number, to: second) }
        for number in 0..<items.count where items[number].isPart || random.below(8) == 0 {
            await change(number, in: second)
        }
        for number in 24..<items.count { items[number].isChanged = true }
        Scratch.copy(folder, to: copy)
        await second.shutdown()
    }

    private mutating func body() -> Bytes {
        let size = random.below(3) == 0 ? 65_537 + random.below(60_000) : 1 + random.below(40_000)
        return .random(size, seed: random.next())
    }

    private mutating func add(_ number: Int, to store: DiskStore) async {
        var item = Item(url: "http://damaged/\(number)", isPart: number % 8 == 7)
        let body = body()
        item.versions.append(body)
        let count = Int64(body.count)
        let response = StoredResponse.example(item.url, bytes: 0..<count, total: item.isPart ? count * 3 : nil)
        let id = await store.keep(response, body: body, under: StoreKey(item.url))
        if id == nil { failures.append("\(item.url) was not stored") }
        items.append(item)
    }

    /// Extends a part, and replaces or removes another entry.
    private mutating func change(_ number: Int, in store: DiskStore) async {
        let url = items[number].url
        items[number].isChanged = true
        guard let entry = await store.find(StoreKey(url)).found.first else {
            return failures.append("\(url) is missing before any damage")
        }
        let body = body()
        if items[number].isPart {
            let before = items[number].newest
            let more = body.part(0..<min(body.count, before.count))
            if await store.extend(entry.id, by: more, at: Int64(before.count)) {
                items[number].versions.append(Bytes(before.array + more.array))
            }
        } else if random.below(3) == 0 {
            await store.remove([entry.id])
            items[number].isRemoved = true
        } else {
            let id = await store.keep(
                .example(url, body: body), body: body, under: StoreKey(url), replacing: [entry.id])
            if id != nil { items[number].versions.append(body) }
        }
    }

    // MARK: Damage

    private mutating func damage(_ folder: String) async -> DamageKind.Allowance {
        switch kind {
        case .two:
            var allowance = flip(folder, "/index.sqlite")
            let other = ["/index.sqlite-wal", "/CACHEDIR.TAG", "/index.sqlite"][random.below(3)]
            allowance.add(flip(folder, other))
            allowance.add(flipBody(folder))
            return allowance
        case .indexBit: return flip(folder, "/index.sqlite")
        case .logBit: return flip(folder, "/index.sqlite-wal")
        case .sharedMemoryBit: return flip(folder, "/index.sqlite-shm")
        case .tagBit: return flip(folder, "/CACHEDIR.TAG")
        case .bodyBit, .partBit: return flipBody(folder)
        case .indexPage, .indexPages: return damagePages(folder + "/index.sqlite")
        case .indexCut: return cut(folder + "/index.sqlite", .init(all: true, discards: true, isOld: true))
        case .logCut: return cut(folder + "/index.sqlite-wal", changed)
        case .indexRandom:
            Scratch.write(folder + "/index.sqlite", randomBytes(100_000))
            return .init(all: true, discards: true, isOld: true)
        case .otherIndex, .otherLog: return await takeFromOther(folder)
        case .bodyCut, .bodyGone, .bodies: return damageBodies(folder)
        case .everything:
            for name in Scratch.files(folder) { Scratch.write(folder + name, randomBytes(10_000)) }
            return .init(all: true, isOld: true)
        case .clock: return .init()
        }
    }

    private var changed: DamageKind.Allowance {
        .init(bodies: Set(items.indices.filter { items[$0].isChanged }), isOld: true)
    }

    private mutating func randomBytes(_ most: Int) -> [UInt8] {
        Bytes.random(1 + random.below(most), seed: random.next()).array
    }

    private mutating func flip(_ folder: String, _ name: String) -> DamageKind.Allowance {
        var bytes = Scratch.read(folder + name)
        let position = random.below(bytes.count)
        let page = position / IndexPage.size
        defer {
            bytes[position] ^= 1 << UInt8(random.below(8))
            Scratch.write(folder + name, bytes)
        }
        switch name {
        case "/index.sqlite":
            return IndexPage.allowance(bytes[(page * IndexPage.size)..<((page + 1) * IndexPage.size)], number: page)
        case "/index.sqlite-wal": return changed
        default: return .init()
        }
    }

    /// Flips a bit of a whole body or of a part, depending on the kind.
    private mutating func flipBody(_ folder: String) -> DamageKind.Allowance {
        guard let (name, number) = bodyFile(folder, ofPart: kind == .partBit) else { return .init() }
        _ = flip(folder, name)
        return .init(bodies: [number])
    }

    /// Returns a body file and the number of its body.
    private mutating func bodyFile(_ folder: String, ofPart: Bool? = nil, but other: Int? = nil) -> (String, Int)? {
        let numbers = items.indices.filter { number in
            !items[number].isRemoved && items[number].isLong && number != other
                && ofPart.map { $0 == items[number].isPart } ?? true
        }
        guard !numbers.isEmpty else { return nil }
        let number = numbers[random.below(numbers.count)]
        let body = items[number].newest.array
        return Scratch.files(folder, below: "/bodies").first { Scratch.read(folder + $0) == body }.map { ($0, number) }
    }

    private mutating func damagePages(_ path: String) -> DamageKind.Allowance {
        var bytes = Scratch.read(path)
        let count = bytes.count / IndexPage.size
        var allowance = DamageKind.Allowance()
        let numbers = [random.below(count), random.below(count)]
        let pages = numbers.map { Array(bytes[($0 * IndexPage.size)..<(($0 + 1) * IndexPage.size)]) }
        for (number, page) in zip(numbers, pages) { allowance.add(IndexPage.allowance(page[...], number: number)) }
        if kind == .indexPages {
            // The page map, which records the pages in use, follows the first page.
            if numbers.contains(1) { allowance.all = true }
            for (number, page) in zip(numbers, pages.reversed()) {
                bytes.replaceSubrange((number * IndexPage.size)..<((number + 1) * IndexPage.size), with: page)
            }
        } else {
            let page = Bytes.random(IndexPage.size, seed: random.next()).array
            let start = numbers[0] * IndexPage.size
            bytes.replaceSubrange(
                start..<(start + IndexPage.size), with: random.below(2) == 0 ? page : page.map { _ in 0 })
        }
        Scratch.write(path, bytes)
        return allowance
    }

    private mutating func cut(_ path: String, _ allowance: DamageKind.Allowance) -> DamageKind.Allowance {
        let bytes = Scratch.read(path)
        Scratch.write(path, Array(bytes[..<random.below(bytes.count)]))
        return allowance
    }

    private mutating func takeFromOther(_ folder: String) async -> DamageKind.Allowance {
        let other = store(scratch + "/other")
        for number in 0..<12 {
            let url = items[number].url
            let body = body()
            _ = await other.keep(.example(url, body: body), body: body, under: StoreKey(url))
        }
        let name = kind == .otherLog ? "/index.sqlite-wal" : "/index.sqlite"
        if kind == .otherIndex { await other.shutdown() }
        Scratch.write(folder + name, Scratch.read(scratch + "/other" + name))
        if kind == .otherLog { await other.shutdown() }
        return kind == .otherLog ? changed : .init(all: true, discards: true, isOld: true)
    }

    private mutating func damageBodies(_ folder: String) -> DamageKind.Allowance {
        guard let (name, number) = bodyFile(folder) else { return .init() }
        switch kind {
        case .bodyCut: return cut(folder + name, .init(bodies: [number]))
        case .bodies:
            guard let (other, otherNumber) = bodyFile(folder, but: number) else { return .init() }
            let (one, two) = (Scratch.read(folder + name), Scratch.read(folder + other))
            Scratch.write(folder + name, two)
            Scratch.write(folder + other, one)
            return .init(bodies: [number, otherNumber])
        default:
            Scratch.remove(folder + name)
            switch random.below(4) {
            case 0: unsafe mkdir(folder + name, 0o700)
            case 1: unsafe mkfifo(folder + name, 0o600)
            case 2: unsafe symlink("/dev/zero", folder + name)
            default: break
            }
            return .init(bodies: [number])
        }
    }

    // MARK: Checks

    private mutating func look(_ folder: String, _ allowance: DamageKind.Allowance) async {
        let date = kind == .clock ? Self.date - 365 * 86400 : Self.date
        var there: Set<Int> = []
        let discards = Guarded(0)
        for round in 0..<2 {
            let discardsBefore = discards.withLock { $0 }
            let store = store(folder, date: date) { event in
                if case .indexDiscarded = event { discards.withLock { $0 += 1 } }
            }
            var seen: Set<Int> = []
            for number in items.indices {
                let item = items[number]
                guard let body = await store.find(StoreKey(item.url)).body?.bytes else { continue }
                seen.insert(number)
                let isRight =
                    allowance.isOld && item.isChanged
                    ? item.versions.contains(body) : body == item.newest && !item.isRemoved
                if !isRight { failures.append("\(item.url) is served with \(body.count) wrong bytes") }
            }
            if round == 0 {
                there = seen
                check(seen, allowance, isDiscarded: discards.withLock { $0 } > 0)
            } else if discardsBefore > 0 {
                if !seen.isEmpty { failures.append("\(seen.sorted()) are found in a discarded index") }
            } else if !there.isSubset(of: seen) {
                failures.append("\(there.subtracting(seen).sorted()) were found in the first round only")
            }
            let new = Bytes("new \(round)")
            let id = await store.keep(.example("http://new", body: new), body: new, under: StoreKey("http://new"))
            let isBack = await store.find(StoreKey("http://new")).body?.bytes == new
            // A folder of random files belongs to another program, and the cache leaves it alone.
            if kind != .everything, id == nil || !isBack { failures.append("a new entry cannot be stored") }
            await store.shutdown()
        }
        let count = discards.withLock { $0 }
        if count > (allowance.discards ? 1 : 0) { failures.append("the index was discarded \(count) times") }
        let (bytes, files) = (Scratch.bytes(folder), Scratch.files(folder, below: "/bodies").count)
        if bytes > Self.limit { failures.append("\(bytes) bytes exceed the limit") }
        if count > 0, files > 0 { failures.append("\(files) files belong to no entry") }
    }

    private mutating func check(_ seen: Set<Int>, _ allowance: DamageKind.Allowance, isDiscarded: Bool) {
        found = items.indices.count { seen.contains($0) && !items[$0].isRemoved }
        let lost = Set(items.indices.filter { !items[$0].isRemoved }).subtracting(seen)
        let others = lost.subtracting(allowance.bodies)
        if !allowance.all, !isDiscarded, others.count > allowance.others {
            failures.append(
                "\(others.count) undamaged bodies are lost (\(others.sorted())), \(allowance.others) are allowed")
        }
    }
}
