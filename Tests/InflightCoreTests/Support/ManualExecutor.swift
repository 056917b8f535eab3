import InflightConcurrency

/// Runs queued decodes when the test calls ``runOne()`` or ``runAll()``.
final class ManualExecutor: WorkExecutor {
    private let work = Guarded<[@Sendable () -> Void]>([])

    func run(_ work: @escaping @Sendable () -> Void) {
        self.work.withLock { $0.append(work) }
    }

    func runOne() {
        let next = work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        next?()
    }

    @discardableResult
    func runAll() -> Int {
        var count = 0
        while let next = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            next()
            count += 1
        }
        return count
    }
}
