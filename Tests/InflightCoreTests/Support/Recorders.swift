import InflightConcurrency
import InflightCore

/// A counter for any thread.
final class Counter: Sendable {
    private let state = Guarded(0)

    func add() { state.withLock { $0 += 1 } }
    var count: Int { state.withLock { $0 } }
}

/// A log of events, in order, from any thread.
final class Log: Sendable {
    private let state = Guarded([String]())

    func add(_ line: String) { state.withLock { $0.append(line) } }
    var lines: [String] { state.withLock { $0 } }
}

/// A value that is set once and awaited by a test.
final class Promise<Value: Sendable>: Sendable {
    private let state = Guarded<Value?>(nil)
    private let bridge = Bridge()

    func set(_ value: Value) {
        state.withLock { $0 = value }
        bridge.open()
    }

    /// Only one caller may wait.
    var value: Value {
        get async throws {
            await bridge.wait()
            guard let value = state.withLock({ $0 }) else { throw Missing() }
            return value
        }
    }

    private struct Missing: Error {}
}

/// Calls a closure when it is released; captured by closures in tests.
final class Captured: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    /// Called in closures, so that they retain this object.
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
