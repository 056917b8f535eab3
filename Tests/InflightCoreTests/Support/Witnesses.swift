import InflightConcurrency
import InflightCore

/// Counts from any thread.
final class Tally: Sendable {
    private let state = Guarded(0)

    func add() { state.withLock { $0 += 1 } }
    var count: Int { state.withLock { $0 } }
}

/// What happened, in order, from any thread.
final class Log: Sendable {
    private let state = Guarded([String]())

    func add(_ line: String) { state.withLock { $0.append(line) } }
    var lines: [String] { state.withLock { $0 } }
}

/// Something that happens once, awaited by a test.
final class Once<Value: Sendable>: Sendable {
    private let state = Guarded<Value?>(nil)
    private let bridge = Bridge()

    func set(_ value: Value) {
        state.withLock { $0 = value }
        bridge.open()
    }

    /// One caller may wait.
    var value: Value {
        get async throws {
            await bridge.wait()
            guard let value = state.withLock({ $0 }) else { throw Missing() }
            return value
        }
    }

    private struct Missing: Error {}
}

/// Tells of its release: what closures capture in tests.
final class Captured: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    /// To be called in closures, so that they hold it.
    func touch() {}

    deinit {
        onRelease()
    }
}

extension Result where Success == LoadedResponse, Failure == LoadError {
    /// The body's text, or the error's code.
    var shown: String {
        switch self {
        case .success(let response): String(decoding: response.body.array, as: UTF8.self)
        case .failure(let error): error.code.rawValue
        }
    }
}

extension Result where Failure == LoadError {
    var code: LoadError.Code? {
        if case .failure(let error) = self { return error.code }
        return nil
    }
}
