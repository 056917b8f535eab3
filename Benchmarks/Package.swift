// swift-tools-version: 6.3
import PackageDescription

// The settings of the root package.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let (support, oneThread) = (Target.Dependency("BenchmarkSupport"), Target.Dependency("OneThread"))
let inflight = Target.Dependency.product(name: "Inflight", package: "inflight")
let core = Target.Dependency.product(name: "InflightCore", package: "inflight")
let concurrency = Target.Dependency.product(name: "InflightConcurrency", package: "inflight")
let patterns = Target.Dependency.product(name: "InflightPatterns", package: "inflight")
let testSupport = Target.Dependency.product(name: "InflightTestSupport", package: "inflight")

let package = Package(
    name: "inflight-benchmarks",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // Hit ratios of eviction policies over synthetic traces: see Documentation/Decisions/0001-eviction-policy.md.
        .executableTarget(name: "EvictionTraces", dependencies: [core]),
        // The engine on a transport without a network: tasks per second, cost of coalescing, memory of queued tasks.
        .executableTarget(name: "EngineSpeed", dependencies: [inflight, core, concurrency, testSupport]),
        // Shared by the programs below: options, wall and CPU time, memory, the output line.
        .target(name: "BenchmarkSupport"),
        // Many small files over HTTP, by Inflight and by URLSession.
        .executableTarget(name: "HTTPSpeed", dependencies: [support, inflight, testSupport]),
        .executableTarget(name: "URLSessionSpeed", dependencies: [support]),
        // The disk cache alone: reads, writes, hits during eviction, opening. Its peer is Foundation's URLCache.
        .executableTarget(
            name: "DiskSpeed",
            dependencies: [
                support, .product(name: "InflightDisk", package: "inflight"), core, concurrency, testSupport,
            ]),
        .executableTarget(name: "URLCacheSpeed", dependencies: [support]),
        // Decoding to thumbnails in memory, in process and in decoder processes; peak memory; probing; cancellation.
        .executableTarget(name: "DecodeSpeed", dependencies: [support, inflight, concurrency]),
        .executableTarget(
            name: "IsolatedSpeed",
            dependencies: [support, inflight, concurrency, .product(name: "InflightVips", package: "inflight")]),
        .executableTarget(name: "DecodeMemory", dependencies: [support, inflight, concurrency]),
        .executableTarget(name: "ProbeSpeed", dependencies: [support, inflight]),
        .executableTarget(name: "EncodedSpeed", dependencies: [support, inflight]),
        .executableTarget(name: "DecodeCancel", dependencies: [support, inflight, concurrency]),
        // Each image processor on one core.
        .executableTarget(name: "ProcessorSpeed", dependencies: [support, inflight, concurrency]),
        // The patterns of `InflightPatterns` beside a bare lock, queues and an actor. C code counts allocations.
        .target(name: "CAllocationCount"),
        .executableTarget(name: "PatternCosts", dependencies: ["CAllocationCount", patterns]),
        // A transport, a decoder and a callback queue that all run on the calling thread.
        .target(name: "OneThread", dependencies: [inflight, core, concurrency, testSupport]),
        // Loads by `ImageLoader` and by `Prefetcher` beside the pipeline's own.
        .executableTarget(name: "LoaderCosts", dependencies: [support, oneThread, inflight]),
        // A load without an observer, with one that does nothing, and with one that maintains metrics.
        .executableTarget(name: "ListenerCosts", dependencies: [support, oneThread, inflight]),
        // Simulator steps per second on one core.
        .executableTarget(name: "SimulatorSpeed", dependencies: [support, testSupport]),
        // The public suite of tests for HTTP caches, on a pipeline with a disk cache: see cache-suite.mjs.
        .executableTarget(name: "CacheSuite", dependencies: [support, inflight, concurrency]),
        // The time from `cancel()` to the last callback and to the closed connection.
        .executableTarget(name: "CancelLatency", dependencies: [support, inflight, concurrency, testSupport]),
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
