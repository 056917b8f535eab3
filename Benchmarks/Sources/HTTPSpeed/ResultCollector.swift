import Dispatch
import Inflight

/// Collects the results of loads, and waits until all have arrived.
// Unchecked: touched only on the serial callback queue, and after `wait()`.
final class ResultCollector: @unchecked Sendable {
    private(set) var bodies: [Bytes] = []
    private(set) var failures: [LoadError] = []
    private var left: Int
    private let done = DispatchSemaphore(value: 0)

    init(_ count: Int) {
        left = count
        bodies.reserveCapacity(count)
    }

    func take(_ result: Result<LoadedResponse, LoadError>) {
        switch result {
        case .success(let response): bodies.append(response.body)
        case .failure(let error): failures.append(error)
        }
        left -= 1
        if left == 0 { done.signal() }
    }

    func wait() {
        done.wait()
    }
}
