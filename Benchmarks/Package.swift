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
let testSupport = Target.Dependency.product(name: "InflightTestSupport", package: "inflight")

let package = Package(
    name: "inflight-benchmarks",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // Hit ratios of eviction policies over synthetic traces: see Documentation/Decisions/0001-eviction-policy.md.
        .executableTarget(name: "EvictionTraces", dependencies: [core]),
        // The engine on a transport without a network: tasks per second, cost of coalescing, memory of queued tasks.
        .executableTarget(name: "EngineSpeed", dependencies: [inflight, concurrency, testSupport]),
        // Shared by the programs below: elapsed time, CPU time, and a line of output.
        .target(name: "BenchmarkSupport"),
        // Many small files over HTTP, and the same with URLSession.
        .executableTarget(name: "HTTPSpeed", dependencies: [support, inflight, testSupport]),
        .executableTarget(name: "URLSessionSpeed", dependencies: [support]),
        // The disk cache alone: reads, writes, hits during eviction, and opening.
        .executableTarget(
            name: "DiskSpeed",
            dependencies: [support, .product(name: "InflightDisk", package: "inflight"), core, concurrency]),
        .executableTarget(name: "URLCacheSpeed", dependencies: [support]),
        // Decoding from memory to thumbnails; formats of the sandboxed decoder, decoded in this process; memory use;
        // reading only headers; cancellation.
        .executableTarget(name: "DecodeSpeed", dependencies: [support, inflight, concurrency]),
        .executableTarget(
            name: "IsolatedSpeed",
            dependencies: [support, inflight, concurrency, .product(name: "InflightVips", package: "inflight")]),
        .executableTarget(name: "DecodeMemory", dependencies: [support, inflight, concurrency]),
        .executableTarget(name: "ProbeSpeed", dependencies: [support, inflight]),
        .executableTarget(name: "DecodeCancel", dependencies: [support, inflight, concurrency]),
        // Image processors, each on one core.
        .executableTarget(name: "ProcessorSpeed", dependencies: [support, inflight, concurrency]),
        // The patterns of `InflightConcurrency`, compared with a bare lock, queues and an actor. C code counts
        // allocations.
        .target(name: "CAllocationCount"),
        .executableTarget(name: "PatternCosts", dependencies: ["CAllocationCount", concurrency]),
        // A transport, a decoder and a callback queue that are driven by one thread.
        .target(name: "OneThread", dependencies: [inflight, core, concurrency, testSupport]),
        // A load through a loader and through a prefetcher, compared with a direct load of the pipeline.
        .executableTarget(name: "LoaderCosts", dependencies: [support, oneThread, inflight]),
        // A load without an observer of the pipeline, with one that does nothing, and with one that collects metrics.
        .executableTarget(name: "ListenerCosts", dependencies: [support, oneThread, inflight]),
        // Simulator steps on one core.
        .executableTarget(name: "SimulatorSpeed", dependencies: [support, testSupport]),
        // The time until a cancelled transfer's connection is closed.
        .executableTarget(name: "CancelLatency", dependencies: [support, inflight, concurrency, testSupport]),
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
