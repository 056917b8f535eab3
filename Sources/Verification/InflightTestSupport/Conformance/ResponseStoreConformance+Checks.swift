internal import Glibc
internal import InflightConcurrency
internal import InflightCore

extension ResponseStoreConformance {
    /// Short lengths, long ones, and some beyond any buffer or piece size.
    private static let sizes = [0, 1, 31, 32, 4095, 30_000, 65_536, 65_537, 300_000, 1_200_000]

    /// Checks of storing.
    static let keeping: [(String, Body)] = [
        (
            "What was kept is found, with the same head and the same bytes, whatever its length",
            { bench in
                for (index, size) in sizes.enumerated() {
                    let body = Bytes.random(size, seed: UInt64(index))
                    let id = await bench.keep("http://a/\(size)", body)
                    let (found, read) = await bench.store.find(StoreKey("http://a/\(size)"))
                    bench.expect(found.map(\.id) == [id], "\(size) bytes: \(found.count) entries were found")
                    bench.expect(
                        found.first?.response == .example("http://a/\(size)", body: body), "\(size) bytes: another head"
                    )
                    bench.expect(read?.bytes == body, "\(size) bytes: other bytes")
                }
            }
        ),
        (
            "Nothing is found under another key",
            { bench in
                _ = await bench.keep("http://a/1", Bytes("x"))
                await bench.expect("http://a/2", [], body: nil, "another key")
            }
        ),
        (
            "Fields come back as the bytes that they were, doubled ones and such that are no UTF-8 included",
            { bench in
                var response = StoredResponse.example(
                    "http://a/", bytes: 0..<1, fields: [("A", "1"), ("a", "2"), ("A", "")])
                response.head.fields.append(name: [0x58], value: [0xFF, 0x00, 0x80])
                response.varyFields = HTTPFields()
                response.totalLength = nil
                response.head.version = .http2
                response.head.status = 599
                _ = await bench.store.keep(response, body: Bytes("x"), under: StoreKey("k"))
                let found = await bench.store.find(StoreKey("k")).found
                bench.expect(found.first?.response == response, "another head: \(String(describing: found.first))")
            }
        ),
        (
            "Several under one key are found, the newest first, and the chosen one's body is read",
            { bench in
                let first = await bench.keep("http://a/", Bytes("one"))
                let second = await bench.keep("http://a/", Bytes("second"))
                let third = await bench.keep("http://a/", Bytes("the third"))
                bench.expect(Set([first, second, third]).count == 3, "two have the same number")
                await bench.expect("http://a/", [third, second, first], body: Bytes("the third"), "the newest")
                let (found, body) = await bench.store.find(StoreKey("http://a/")) { $0.count - 1 }
                bench.expect(
                    found.count == 3 && body?.position == 2 && body?.bytes == Bytes("one"),
                    "the oldest is not the first")
                let none = await bench.store.find(StoreKey("http://a/")) { _ in nil }
                bench.expect(none.found.count == 3 && none.body == nil, "a body was read that nobody chose")
                let beyond = await bench.store.find(StoreKey("http://a/")) { $0.count }
                bench.expect(beyond.body == nil, "a body was read that is not there")
            }
        ),
        (
            "A body that is not as long as its range says is not kept",
            { bench in
                let id = await bench.store.keep(.example("u", bytes: 0..<3), body: Bytes("four"), under: StoreKey("u"))
                bench.expect(id == nil, "it was kept")
                await bench.expect("u", [], body: nil, "after that")
            }
        ),
    ]

    /// Checks of updates.
    static let changing: [(String, Body)] = [
        (
            "What is replaced is gone when the new one is there, and what is not there may be replaced too",
            { bench in
                let first = await bench.keep("http://a/", Bytes("one"))
                let large = await bench.keep("http://a/", .random(200_000, seed: 1))
                let last = await bench.keep(
                    "http://a/", Bytes("last"), replacing: [first, large, StoredEntry.ID(rawValue: 12345)])
                await bench.expect("http://a/", [last], body: Bytes("last"), "after replacing")
            }
        ),
        (
            "A body grows from nothing to the whole, piece by piece",
            { bench in
                let pieces = [1, 0, 30_000, 40_000, 1, 500_000].enumerated().map { Bytes.random($1, seed: UInt64($0)) }
                let total = Int64(pieces.reduce(0) { $0 + $1.count })
                var response = StoredResponse.example("u", bytes: 0..<0, total: total)
                guard let id = await bench.store.keep(response, body: .empty, under: StoreKey("u")) else {
                    return bench.expect(false, "the beginning was not kept")
                }
                var body: [UInt8] = []
                for piece in pieces {
                    let isKept = await bench.store.extend(id, by: piece, at: Int64(body.count))
                    bench.expect(isKept, "\(piece.count) bytes at \(body.count) were not kept")
                    body += piece.array
                    response.bodyRange = 0..<Int64(body.count)
                    let (found, read) = await bench.store.find(StoreKey("u"))
                    bench.expect(found.first?.response == response, "the range is not what is kept")
                    bench.expect(read?.bytes.array == body, "other bytes after \(body.count)")
                }
                response.head.fields.set("Done", "yes")
                bench.expect(await bench.store.update(id, to: response), "it could not be completed")
                await bench.expect("u", [id], body: Bytes(body), "when complete")
            }
        ),
        (
            "Bytes that do not begin where the body ends, or end behind its whole, are not taken",
            { bench in
                let response = StoredResponse.example("u", bytes: 10..<13, total: 15)
                guard let id = await bench.store.keep(response, body: Bytes("abc"), under: StoreKey("u")) else {
                    return bench.expect(false, "a part was not kept")
                }
                for offset: Int64 in [0, 3, 12, 14, 15, -1] {
                    bench.expect(
                        !(await bench.store.extend(id, by: Bytes("d"), at: offset)), "a byte at \(offset) was taken")
                }
                bench.expect(
                    !(await bench.store.extend(id, by: Bytes("def"), at: 13)), "a byte behind the end was taken")
                let other = StoredEntry.ID(rawValue: id.rawValue + 1000)
                bench.expect(!(await bench.store.extend(other, by: Bytes("d"), at: 13)), "bytes of nothing were taken")
                await bench.expect("u", [id], body: Bytes("abc"), "after all that")
                bench.expect(await bench.store.extend(id, by: Bytes("de"), at: 13), "the rest was not taken")
                await bench.expect("u", [id], body: Bytes("abcde"), "with the rest")
            }
        ),
        (
            "A head is changed, and the body stays; one that says another length is not taken",
            { bench in
                for body in [Bytes("abc"), .random(100_000, seed: 3)] {
                    let url = "http://\(body.count)"
                    let id = await bench.keep(url, body)
                    var response = StoredResponse.example(url, body: body)
                    response.head.fields.set("Date", "later")
                    response.responseTime = WallTime(milliseconds: 1_800_000_000_000)
                    bench.expect(await bench.store.update(id, to: response), "the head was not changed")
                    let (found, read) = await bench.store.find(StoreKey(url))
                    bench.expect(found.first?.response == response && read?.bytes == body, "the change is not seen")
                    var wrong = response
                    wrong.bodyRange = 0..<2
                    bench.expect(!(await bench.store.update(id, to: wrong)), "another length was taken")
                    bench.expect(
                        await bench.store.find(StoreKey(url)).found.first?.response == response, "it was changed anyway"
                    )
                    let other = StoredEntry.ID(rawValue: id.rawValue + 1000)
                    bench.expect(!(await bench.store.update(other, to: response)), "nothing was changed")
                }
            }
        ),
        (
            "What was removed is gone, one by one and all of a key",
            { bench in
                let first = await bench.keep("u", Bytes("one"))
                let second = await bench.keep("u", .random(100_000, seed: 1))
                let third = await bench.keep("u", Bytes("three"))
                let other = await bench.keep("v", Bytes("other"))
                await bench.store.remove([second, StoredEntry.ID(rawValue: 99)])
                await bench.expect("u", [third, first], body: Bytes("three"), "after one was removed")
                await bench.store.removeAll(under: StoreKey("u"))
                await bench.expect("u", [], body: nil, "after all were removed")
                await bench.expect("v", [other], body: Bytes("other"), "the other key")
                let next = await bench.keep("u", Bytes("next"))
                bench.expect(![first, second, third, other].contains(next), "a number was used again")
            }
        ),
    ]

    /// Checks of calls.
    static let calling: [(String, Body)] = [
        (
            "Completions are never called inside the call, and once",
            { bench in
                let calls = Guarded<[Int]>(Array(repeating: 0, count: 6))
                let inside = Guarded<pthread_t?>(pthread_self())
                let count: @Sendable (Int) -> Void = { index in
                    calls.withLock { $0[index] += 1 }
                    let isInside = inside.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
                    bench.expect(!isInside, "call \(index) was answered inside")
                }
                let id = StoredEntry.ID(rawValue: 5)
                callAll(bench.store, id: id, count)
                inside.withLock { $0 = nil }
                await bench.store.shutdown()
                bench.expect(
                    calls.withLock { $0 } == [1, 1, 1, 1, 1, 1], "calls were answered \(calls.withLock { $0 }) times")
            }
        ),
        (
            "After a shutdown nothing is found and nothing kept, and every call is answered",
            { bench in
                let id = await bench.keep("u", Bytes("one"))
                await bench.store.shutdown()
                await bench.expect("u", [], body: nil, "after the shutdown")
                let kept = await bench.store.keep(
                    .example("u", body: Bytes("x")), body: Bytes("x"), under: StoreKey("u"))
                bench.expect(kept == nil, "something was kept")
                bench.expect(!(await bench.store.extend(id, by: Bytes("x"), at: 3)), "something was added")
                bench.expect(
                    !(await bench.store.update(id, to: .example("u", body: Bytes("one")))), "something was changed")
                await bench.store.remove([id])
                await bench.store.removeAll(under: StoreKey("u"))
                await bench.store.shutdown()
            }
        ),
        (
            "Many calls at once are all answered, and all that was kept is there",
            { bench in
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        group.addTask {
                            for number in 0..<20 {
                                let url = "http://\(task)/\(number)"
                                let body = Bytes.random(number * 5000, seed: UInt64(task * 100 + number))
                                let id = await bench.keep(url, body)
                                await bench.expect(url, [id], body: body, "among others")
                            }
                        }
                    }
                }
            }
        ),
    ]

    private static func callAll(
        _ store: any ResponseStore, id: StoredEntry.ID, _ count: @escaping @Sendable (Int) -> Void
    ) {
        let response = StoredResponse.example("u", body: Bytes("x"))
        store.find(StoreKey("u"), choose: { _ in nil }) { _, _ in count(0) }
        store.keep(response, body: Bytes("x"), under: StoreKey("u"), replacing: []) { _ in count(1) }
        store.extend(id, by: Bytes("x"), at: 0) { _ in count(2) }
        store.update(id, to: response) { _ in count(3) }
        store.remove([id]) { count(4) }
        store.removeAll(under: StoreKey("u")) { count(5) }
    }
}
