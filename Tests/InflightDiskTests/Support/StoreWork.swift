import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

/// Operations for fault tests: a store stores, reads, replaces, extends and removes.
enum StoreWork {
    static let limit: Int64 = 20_000_000

    private static let bodies = (0..<10).map { number in
        Bytes.random(number % 2 == 0 ? 90_000 + number : 3000 + number, seed: UInt64(number))
    }
    private static let whole = Bytes.random(140_000, seed: 99)

    /// Even numbers are stored in files, odd ones in the index.
    static func body(_ number: Int) -> Bytes { bodies[number] }

    /// - Returns: The acknowledged bodies, which must be present.
    static func run(_ store: DiskStore) async -> [String: Bytes] {
        var kept: [String: Bytes] = [:]
        for number in 0..<5 {
            let url = "http://\(number)"
            if await store.keep(url, body(number)) != nil { kept[url] = body(number) }
            if let found = await store.body(url) { #expect(found == body(number)) }
        }
        if let id = await store.find(StoreKey("http://0")).found.first?.id {
            let wasKept = await store.keep(
                .example("http://0", body: body(8)), body: body(8), under: StoreKey("http://0"), replacing: [id])
            if wasKept != nil { kept["http://0"] = body(8) }
        }
        let part = StoredResponse.example("part", bytes: 0..<70_000, total: 140_000)
        let pieces = [whole.part(0..<70_000), whole.part(70_000..<140_000)]
        if let id = await store.keep(part, body: pieces[0], under: StoreKey("part")) {
            kept["part"] = pieces[0]
            if await store.extend(id, by: pieces[1], at: 70_000) { kept["part"] = whole }
        }
        await store.removeAll(under: StoreKey("http://3"))
        kept["http://3"] = nil
        return kept
    }
}
