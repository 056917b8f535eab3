import InflightConcurrency

/// A thread of its own for what blocks: the pool's few would be missed by others.
package enum OwnThread {
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let bridge = ValueBridge<Value>()
        let threads = WorkerThreads(count: 1, name: "test")
        threads.run { bridge.open(with: body()) }
        return await bridge.value()
    }
}
