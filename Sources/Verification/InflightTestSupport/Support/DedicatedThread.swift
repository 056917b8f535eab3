import InflightConcurrency

/// A separate thread for blocking calls, which keeps the pool's few threads free.
package enum DedicatedThread {
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let bridge = ValueBridge<Value>()
        let threads = WorkerThreads(count: 1, name: "test")
        threads.run { bridge.open(with: body()) }
        return await bridge.value()
    }
}
