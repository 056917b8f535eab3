internal import Glibc
internal import InflightConcurrency
internal import InflightCore

extension ResponseStoreConformance {
    /// Short lengths, long ones, and some beyond any buffer or piece size.
    private static let sizes = [0, 1, 31, 32, 4095, 30_000, 65_536, 65_537, 300_000, 1_200_000]

    /// Checks of storing.
    static let keeping: [(String, Body)] = [
        (
            "A stored response is found with the same head and body, whatever its length",
            { bench in
                for (index, size) in sizes.enumerated() {
                    let body = Bytes.random(size, seed: UInt64(index))
                    let id = await bench.keep("http://a/\(size)", body)
                    let (found, read) = await bench.store.find(StoreKey("http://a/\(size)"))
                    bench.expect(found.map(\.id) == [id], "\(size) bytes: \(found.count) entries were found")
                    bench.expect(
                        found.first?.response == .example("http://a/\(size)", body: body),
                        "\(size) bytes: a different head"
                    )
                    bench.expect(read?.bytes == body, "\(size) bytes: a different body")
                }
            }
        ),
        (
            "A lookup under another key finds nothing",
            { bench in
                _ = await bench.keep("http://a/1", Bytes("x"))
                await bench.expect("http://a/2", [], body: nil, "another key")
            }
        ),
        (
            "Header fields keep their bytes, including repeated fields and values that are not UTF-8",
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
                bench.expect(found.first?.response == response, "a different head: \(String(describing: found.first))")
            }
        ),
        (
            "All responses of a key are found, newest first, and the body of the chosen one is read",
            { bench in
                let first = await bench.keep("http://a/", Bytes("one"))
                let second = await bench.keep("http://a/", Bytes("second"))
                let third = await bench.keep("http://a/", Bytes("the third"))
                bench.expect(Set([first, second, third]).count == 3, "two entries have the same ID")
                await bench.expect("http://a/", [third, second, first], body: Bytes("the third"), "the newest")
                let (found, body) = await bench.store.find(StoreKey("http://a/")) { $0.count - 1 }
                bench.expect(
                    found.count == 3 && body?.position == 2 && body?.bytes == Bytes("one"),
                    "the body read is not that of the oldest entry")
                let none = await bench.store.find(StoreKey("http://a/")) { _ in nil }
                bench.expect(none.found.count == 3 && none.body == nil, "a body was read although none was chosen")
                let beyond = await bench.store.find(StoreKey("http://a/")) { $0.count }
                bench.expect(beyond.body == nil, "a body was read for an index out of range")
            }
        ),
        (
            "A body whose length differs from its range is not stored",
            { bench in
                let id = await bench.store.keep(.example("u", bytes: 0..<3), body: Bytes("four"), under: StoreKey("u"))
                bench.expect(id == nil, "the response was stored")
                await bench.expect("u", [], body: nil, "after the rejected body")
            }
        ),
    ]

    /// Checks of updates.
    static let changing: [(String, Body)] = [
        (
            "Storing a response removes the entries it replaces and ignores unknown IDs among them",
            { bench in
                let first = await bench.keep("http://a/", Bytes("one"))
                let large = await bench.keep("http://a/", .random(200_000, seed: 1))
                let last = await bench.keep(
                    "http://a/", Bytes("last"), replacing: [first, large, StoredEntry.ID(rawValue: 12345)])
                await bench.expect("http://a/", [last], body: Bytes("last"), "after replacing")
            }
        ),
        (
            "A partial body is extended piece by piece from empty to complete",
            { bench in
                let pieces = [1, 0, 30_000, 40_000, 1, 500_000].enumerated().map { Bytes.random($1, seed: UInt64($0)) }
                let total = Int64(pieces.reduce(0) { $0 + $1.count })
                var response = StoredResponse.example("u", bytes: 0..<0, total: total)
                guard let id = await bench.store.keep(response, body: .empty, under: StoreKey("u")) else {
                    return bench.expect(false, "the empty part was not stored")
                }
                var body: [UInt8] = []
                for piece in pieces {
                    let isExtended = await bench.store.extend(id, by: piece, at: Int64(body.count))
                    bench.expect(isExtended, "\(piece.count) bytes at \(body.count) were not appended")
                    body += piece.array
                    response.bodyRange = 0..<Int64(body.count)
                    let (found, read) = await bench.store.find(StoreKey("u"))
                    bench.expect(found.first?.response == response, "the stored range is not 0..<\(body.count)")
                    bench.expect(read?.bytes.array == body, "a different body at \(body.count) bytes")
                }
                response.head.fields.set("Done", "yes")
                bench.expect(
                    await bench.store.update(id, to: response), "the head of the complete body was not updated")
                await bench.expect("u", [id], body: Bytes(body), "when complete")
            }
        ),
        (
            "Bytes that do not start at the end of the body, or exceed its total length, are not appended",
            { bench in
                let response = StoredResponse.example("u", bytes: 10..<13, total: 15)
                guard let id = await bench.store.keep(response, body: Bytes("abc"), under: StoreKey("u")) else {
                    return bench.expect(false, "a partial body was not stored")
                }
                for offset: Int64 in [0, 3, 12, 14, 15, -1] {
                    bench.expect(
                        !(await bench.store.extend(id, by: Bytes("d"), at: offset)), "a byte at \(offset) was appended")
                }
                bench.expect(
                    !(await bench.store.extend(id, by: Bytes("def"), at: 13)),
                    "a byte beyond the total length was appended")
                let other = StoredEntry.ID(rawValue: id.rawValue + 1000)
                bench.expect(
                    !(await bench.store.extend(other, by: Bytes("d"), at: 13)),
                    "bytes were appended to an unknown entry")
                await bench.expect("u", [id], body: Bytes("abc"), "after the rejected bytes")
                bench.expect(await bench.store.extend(id, by: Bytes("de"), at: 13), "the rest was not appended")
                await bench.expect("u", [id], body: Bytes("abcde"), "with the rest")
            }
        ),
        (
            "Updating a head keeps the body, and a head with another body length is rejected",
            { bench in
                for body in [Bytes("abc"), .random(100_000, seed: 3)] {
                    let url = "http://\(body.count)"
                    let id = await bench.keep(url, body)
                    var response = StoredResponse.example(url, body: body)
                    response.head.fields.set("Date", "later")
                    response.responseTime = WallTime(milliseconds: 1_800_000_000_000)
                    bench.expect(await bench.store.update(id, to: response), "the head was not updated")
                    let (found, read) = await bench.store.find(StoreKey(url))
                    bench.expect(found.first?.response == response && read?.bytes == body, "the update is not found")
                    var wrong = response
                    wrong.bodyRange = 0..<2
                    bench.expect(!(await bench.store.update(id, to: wrong)), "a head with another length was accepted")
                    bench.expect(
                        await bench.store.find(StoreKey(url)).found.first?.response == response,
                        "the rejected head was stored"
                    )
                    let other = StoredEntry.ID(rawValue: id.rawValue + 1000)
                    bench.expect(!(await bench.store.update(other, to: response)), "an unknown entry was updated")
                }
            }
        ),
        (
            "Removed entries are not found, removed one by one or by key, and their IDs are not reused",
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
                bench.expect(![first, second, third, other].contains(next), "an ID was reused")
            }
        ),
    ]

    /// Checks of calls.
    static let calling: [(String, Body)] = [
        (
            "Every completion is called once, and never inside the call",
            { bench in
                let calls = Guarded<[Int]>(Array(repeating: 0, count: 6))
                let inside = Guarded<pthread_t?>(pthread_self())
                let count: @Sendable (Int) -> Void = { index in
                    calls.withLock { $0[index] += 1 }
                    let isInside = inside.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
                    bench.expect(!isInside, "the completion of call \(index) was called inside it")
                }
                let id = StoredEntry.ID(rawValue: 5)
                callAll(bench.store, id: id, count)
                inside.withLock { $0 = nil }
                await bench.store.shutdown()
                bench.expect(
                    calls.withLock { $0 } == [1, 1, 1, 1, 1, 1],
                    "the completions were called \(calls.withLock { $0 }) times")
            }
        ),
        (
            "After shutdown nothing is found or stored, and every completion is still called",
            { bench in
                let id = await bench.keep("u", Bytes("one"))
                await bench.store.shutdown()
                await bench.expect("u", [], body: nil, "after the shutdown")
                let stored = await bench.store.keep(
                    .example("u", body: Bytes("x")), body: Bytes("x"), under: StoreKey("u"))
                bench.expect(stored == nil, "a response was stored")
                bench.expect(!(await bench.store.extend(id, by: Bytes("x"), at: 3)), "bytes were appended")
                bench.expect(
                    !(await bench.store.update(id, to: .example("u", body: Bytes("one")))), "a head was updated")
                await bench.store.remove([id])
                await bench.store.removeAll(under: StoreKey("u"))
                await bench.store.shutdown()
            }
        ),
        (
            "Concurrent calls all complete, and every stored response is found",
            { bench in
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        group.addTask {
                            for number in 0..<20 {
                                let url = "http://\(task)/\(number)"
                                let body = Bytes.random(number * 5000, seed: UInt64(task * 100 + number))
                                let id = await bench.keep(url, body)
                                await bench.expect(url, [id], body: body, "among concurrent calls")
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
