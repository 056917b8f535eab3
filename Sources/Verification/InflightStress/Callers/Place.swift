import Dispatch
import Foundation
import Glibc
import InflightConcurrency
import InflightFoundation
import InflightTestSupport

/// A callback queue that callers use.
final class Place: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case main, serial, concurrent, serialOperations, concurrentOperations, executor, manual
    }

    let kind: Kind
    let queue: CallbackQueue
    /// The queue as an operation queue, if it is one. Callers suspend it and cancel its operations.
    let operations: OperationQueue?
    /// The queue as a manual queue, if it is one. Callers run its work.
    let manual: ManualQueue?

    var isSerial: Bool { kind != .concurrent && kind != .concurrentOperations }
    /// Whether pending work on this queue may be cancelled.
    var drops: Bool { operations != nil || manual != nil }

    init(_ kind: Kind) {
        self.kind = kind
        var operations: OperationQueue?
        var manual: ManualQueue?
        switch kind {
        case .main: queue = MainCallbackQueue.main.queue
        case .serial: queue = .queue(DispatchQueue(label: "stress.serial"))
        case .concurrent: queue = .queue(DispatchQueue(label: "stress.concurrent", attributes: .concurrent))
        case .serialOperations, .concurrentOperations:
            let made = OperationQueue()
            made.maxConcurrentOperationCount = kind == .serialOperations ? 1 : 4
            operations = made
            queue = .queue(made)
        case .executor: queue = .executor(ThreadExecutor())
        case .manual:
            let made = ManualQueue()
            manual = made
            queue = made.callbackQueue
        }
        self.operations = operations
        self.manual = manual
    }
}

/// A program's own serial executor, with one thread.
private final class ThreadExecutor: CallbackExecutor {
    private let threads = WorkerThreads(count: 1, name: "stress-executor")
    private let runner = Guarded<pthread_t?>(nil)

    func submit(_ work: @escaping @Sendable () -> Void) {
        let runner = runner
        threads.run {
            runner.withLock { $0 = pthread_self() }
            work()
        }
    }

    // The thread runs nothing else, and lives as long as the executor.
    var isCurrent: Bool { runner.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }
}
