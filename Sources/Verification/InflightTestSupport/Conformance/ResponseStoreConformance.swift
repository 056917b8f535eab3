internal import Glibc
internal import InflightConcurrency
public import InflightCore

/// Checks that any ``ResponseStore`` keeps the promises of its protocol, as long as nothing is evicted.
///
/// It needs no test framework: what is wrong comes back as values.
///
/// ```swift
/// let conformance = ResponseStoreConformance { MyStore() }
/// for check in ResponseStoreConformance.checks {
///     let failures = await conformance.run(check)
///     #expect(failures.isEmpty, "\(check): \(failures)")
/// }
/// ```
///
/// Every check makes an empty store of its own, with room for some 10 MB, and shuts it down.
public struct ResponseStoreConformance: Sendable {
    /// A promise that was not kept.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        public var check: Check
        public var description: String
    }

    /// One of the checks: an open set, ``checks`` has all.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// What holds, as a sentence.
        public let description: String
    }

    private let makeStore: @Sendable () throws -> any ResponseStore

    /// - Parameter makeStore: makes a new, empty store, which the check shuts down.
    public init(_ makeStore: @escaping @Sendable () throws -> any ResponseStore) {
        self.makeStore = makeStore
    }

    /// All checks, in a fixed order.
    public static var checks: [Check] { all.map(\.check) }

    /// Runs one check.
    public func run(_ check: Check) async -> [Failure] {
        guard let body = Self.all.first(where: { $0.check == check })?.body else { return [] }
        let bench: Bench
        do {
            bench = Bench(store: try makeStore())
        } catch {
            return [Failure(check: check, description: "the check could not begin: \(error)")]
        }
        await body(bench)
        await bench.store.shutdown()
        return bench.failures.withLock { $0 }.map { Failure(check: check, description: $0) }
    }

    /// Runs all checks, one after the other.
    public func run() async -> [Failure] {
        var failures: [Failure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    /// What one check works with.
    final class Bench: Sendable {
        let store: any ResponseStore
        let failures = Guarded<[String]>([])

        init(store: any ResponseStore) {
            self.store = store
        }

        func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
            let text = isTrue ? nil : text()
            if let text { failures.withLock { $0.append(text) } }
        }

        /// Keeps a whole body; it has to be taken.
        func keep(
            _ url: String, _ body: Bytes, replacing replaced: [StoredEntry.ID] = []
        ) async -> StoredEntry.ID {
            let id = await store.keep(
                .example(url, body: body), body: body, under: StoreKey(url), replacing: replaced)
            expect(id != nil, "\(url) with \(body.count) bytes was not kept")
            return id ?? StoredEntry.ID(rawValue: -1)
        }

        /// Looks that just these are found, and that the newest has that body.
        func expect(_ url: String, _ ids: [StoredEntry.ID], body: Bytes?, _ when: String) async {
            let (found, read) = await store.find(StoreKey(url))
            expect(found.map(\.id) == ids, "\(when): \(found.map(\.id)) was found, not \(ids)")
            expect(
                read?.bytes == body, "\(when): the body is \(read?.bytes.count ?? -1) bytes, not \(body?.count ?? -1)")
            if body != nil { expect(read?.position == 0, "\(when): the body's position is not 0") }
        }
    }

    typealias Body = @Sendable (Bench) async -> Void

    private static let all: [(check: Check, body: Body)] = (keeping + changing + calling).map {
        (Check(description: $0), $1)
    }
}
