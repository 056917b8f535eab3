internal import Glibc
internal import InflightConcurrency
public import InflightCore

/// Checks that any ``ResponseStore`` fulfils the contract of its protocol, as long as nothing is evicted.
///
/// It needs no test framework: failures are returned as values.
///
/// ```swift
/// let conformance = ResponseStoreConformance { MyStore() }
/// for check in ResponseStoreConformance.checks {
///     let failures = await conformance.run(check)
///     #expect(failures.isEmpty, "\(check): \(failures)")
/// }
/// ```
///
/// Every check makes its own empty store, with room for about 10 MB, and shuts it down.
public struct ResponseStoreConformance: Sendable {
    /// A violation that a check has found.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        /// The check whose rule was violated.
        public var check: Check
        /// The observation that contradicts the rule.
        public var observation: String

        /// The rule, and the observation that contradicts it.
        public var description: String { "\(check): \(observation)" }
    }

    /// One of the checks. The set is open; ``checks`` has all.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// The rule that is checked, as a sentence.
        public let description: String
    }

    private let makeStore: @Sendable () throws -> any ResponseStore

    /// Creates the suite for one kind of store.
    ///
    /// - Parameter makeStore: returns a new, empty store, which the check shuts down. If it throws, the check fails.
    public init(_ makeStore: @escaping @Sendable () throws -> any ResponseStore) {
        self.makeStore = makeStore
    }

    /// All checks, in a fixed order.
    public static var checks: [Check] { all.map(\.check) }

    /// Runs one check.
    ///
    /// - Returns: the violations; empty if the rule holds.
    public func run(_ check: Check) async -> [Failure] {
        guard let body = Self.all.first(where: { $0.check == check })?.body else {
            preconditionFailure("this is another suite's check: \(check)")
        }
        let bench: Bench
        do {
            bench = Bench(store: try makeStore())
        } catch {
            return [Failure(check: check, observation: "the check could not start: \(error)")]
        }
        await body(bench)
        await bench.store.shutdown()
        return bench.failures.withLock { $0 }.map { Failure(check: check, observation: $0) }
    }

    /// Runs all checks, one after the other. Returns their violations; empty if all rules hold.
    public func run() async -> [Failure] {
        var failures: [Failure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    /// The store and the list of failures of one check.
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

        /// Stores a whole body, and expects that the store accepts it.
        func keep(
            _ url: String, _ body: Bytes, replacing replaced: [StoredEntry.ID] = []
        ) async -> StoredEntry.ID {
            let id = await store.keep(
                .example(url, body: body), body: body, under: StoreKey(url), replacing: replaced)
            expect(id != nil, "\(url) with \(body.count) bytes was not stored")
            return id ?? StoredEntry.ID(rawValue: -1)
        }

        /// Expects that exactly these entries are found, and that the newest has that body.
        func expect(_ url: String, _ ids: [StoredEntry.ID], body: Bytes?, _ when: String) async {
            let (found, read) = await store.find(StoreKey(url))
            expect(found.map(\.id) == ids, "\(when): found \(found.map(\.id)), not \(ids)")
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
