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
        // The engine on a transport without a network: tasks a second, cost of sharing, memory of what waits.
        .executableTarget(name: "EngineSpeed", dependencies: [inflight, concurrency, testSupport]),
        // What the programs below share: the time, the CPU time, one line of output.
        .target(name: "BenchmarkSupport"),
        // Many small files over HTTP, and the same with URLSession.
        .executableTarget(name: "HTTPSpeed", dependencies: [support, inflight, testSupport]),
        .executableTarget(name: "URLSessionSpeed", dependencies: [support]),
        // The disk cache alone: reads, writes, hits while others are evicted, opening.
        .executableTarget(
            name: "DiskSpeed",
            dependencies: [support, .product(name: "InflightDisk", package: "inflight"), core, concurrency]),
        .executableTarget(name: "URLCacheSpeed", dependencies: [support]),
        // Pictures to thumbnails in memory; those that are decoded apart, once in this process; memory; headers alone.
        .executableTarget(name: "DecodeSpeed", dependencies: [support, inflight, concurrency]),
        .executableTarget(
            name: "IsolatedSpeed",
            dependencies: [support, inflight, concurrency, .product(name: "InflightVips", package: "inflight")]),
        .executableTarget(name: "DecodeMemory", dependencies: [support, inflight, concurrency]),
        .executableTarget(name: "ProbeSpeed", dependencies: [support, inflight]),
        .executableTarget(name: "DecodeCancel", dependencies: [support, inflight, concurrency]),
        // The processors, each on one core.
        .executableTarget(name: "ProcessorSpeed", dependencies: [support, inflight, concurrency]),
        // The patterns of `InflightConcurrency` beside a bare lock, queues and an actor; allocations are counted in C.
        .target(name: "CAllocationCount"),
        .executableTarget(name: "PatternCosts", dependencies: ["CAllocationCount", concurrency]),
        // Transport, decoder and callback queue that one thread moves by itself.
        .target(name: "OneThread", dependencies: [inflight, core, concurrency, testSupport]),
        // A loader's and a prefetcher's load beside the pipeline's own.
        .executableTarget(name: "LoaderCosts", dependencies: [support, oneThread, inflight]),
        // A load with nobody who listens to the pipeline, with a listener that does nothing, and with a meter.
        .executableTarget(name: "ListenerCosts", dependencies: [support, oneThread, inflight]),
        // Steps of the simulator on one core.
        .executableTarget(name: "SimulatorSpeed", dependencies: [support, testSupport]),
        // How soon a cancelled transfer's connection is closed.
        .executableTarget(name: "CancelLatency", dependencies: [support, inflight, concurrency, testSupport]),
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
