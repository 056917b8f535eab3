import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

@Suite("Disk cache: comparison with a model", .timeLimit(.minutes(10)))
struct ModelTests {
    private struct Known {
        var real: StoredEntry.ID
        var model: StoredEntry.ID
        var key: StoreKey
    }

    @Test("Random operations and restarts have the same results as in a model", arguments: 1...12)
    func randomOperations(seed: UInt64) async {
        let folder = Folder()
        var random = SeededGenerator(seed: seed)
        var store = folder.store()
        let model = MemoryStore()
        var known: [Known] = []
        for step in 0..<120 {
            let key = StoreKey("http://\(random.below(6))")
            let entry = known.isEmpty ? nil : known[random.below(known.count)]
            switch random.below(12) {
            case 0..<4:
                let size = [0, 1, 5000, 65_536, 65_537, 150_000][random.below(6)]
                let body = Bytes.random(size, seed: seed * 1000 + UInt64(step))
                let response = StoredResponse.example(
                    key.text, bytes: 0..<Int64(size), total: random.below(2) == 0 ? Int64(size) : Int64(size) + 200_000)
                let replaced = random.below(3) == 0 ? entry : nil
                let real = await store.keep(
                    response, body: body, under: key, replacing: replaced.map { [$0.real] } ?? [])
                let other = await model.keep(
                    response, body: body, under: key, replacing: replaced.map { [$0.model] } ?? [])
                if let replaced { known.removeAll { $0.real == replaced.real } }
                guard let real, let other else {
                    Issue.record("seed \(seed), step \(step): \(size) bytes were not kept")
                    return
                }
                known.append(Known(real: real, model: other, key: key))
            case 4..<6:
                guard let entry else { continue }
                let found = model.entries.first { $0.id == entry.model }
                let end = (found?.response.bodyRange.upperBound ?? 0) + Int64(random.below(4) == 0 ? 1 : 0)
                let bytes = Bytes.random(random.below(90_000), seed: UInt64(step))
                let results = (
                    await store.extend(entry.real, by: bytes, at: end),
                    await model.extend(entry.model, by: bytes, at: end)
                )
                #expect(results.0 == results.1, "seed \(seed), step \(step): extend")
            case 6:
                guard let entry, var response = model.entries.first(where: { $0.id == entry.model })?.response else {
                    continue
                }
                response.head.fields.set("Step", String(step))
                if random.below(2) == 0 { response.totalLength = response.bodyRange.upperBound }
                let results = (
                    await store.update(entry.real, to: response), await model.update(entry.model, to: response)
                )
                #expect(results.0 == results.1, "seed \(seed), step \(step): update")
            case 7:
                guard let entry else { continue }
                await store.remove([entry.real])
                await model.remove([entry.model])
                known.removeAll { $0.real == entry.real }
            case 8:
                await store.removeAll(under: key)
                await model.removeAll(under: key)
                known.removeAll { $0.key == key }
            case 9:
                await store.shutdown()
                store = folder.store()
            default: break
            }
            let chosen = random.below(3)
            let (found, body) = await store.find(key) { $0.count > chosen ? chosen : nil }
            let (wanted, wantedBody) = await model.find(key) { $0.count > chosen ? chosen : nil }
            #expect(found.map(\.response) == wanted.map(\.response), "seed \(seed), step \(step): heads")
            #expect(body?.bytes == wantedBody?.bytes, "seed \(seed), step \(step): bodies")
        }
        let statistics = try? await store.statistics()
        #expect(statistics?.entries == Int64(model.entries.count))
        #expect(statistics?.partialEntries == Int64(model.entries.count { !$0.response.isComplete }))
        #expect(statistics?.bodyBytes == model.entries.reduce(0) { $0 + Int64($1.response.bodyRange.count) })
        await store.shutdown()
        await model.shutdown()
    }
}
