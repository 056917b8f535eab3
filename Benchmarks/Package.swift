// swift-tools-version: 6.2
import PackageDescription

// The settings of the root package.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "inflight-benchmarks",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // Hit ratios of eviction policies over synthetic traces: see Documentation/Decisions/0001-eviction-policy.md.
        .executableTarget(
            name: "EvictionTraces", dependencies: [.product(name: "InflightCore", package: "inflight")]),
        // The engine on a transport without a network: tasks a second, cost of sharing, memory of what waits.
        .executableTarget(
            name: "EngineSpeed",
            dependencies: [
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
        // What the programs below share: the time, the CPU time, one line of output.
        .target(name: "BenchmarkSupport"),
        // Many small files over HTTP, and the same with URLSession.
        .executableTarget(
            name: "HTTPSpeed",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
        .executableTarget(name: "URLSessionSpeed", dependencies: ["BenchmarkSupport"]),
        // The disk cache alone: reads, writes, hits while others are evicted, opening.
        .executableTarget(
            name: "DiskSpeed",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "InflightDisk", package: "inflight"),
                .product(name: "InflightCore", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
            ]),
        .executableTarget(name: "URLCacheSpeed", dependencies: ["BenchmarkSupport"]),
        // Pictures to thumbnails in memory; those that are decoded apart, once in this process; memory; headers alone.
        .executableTarget(
            name: "DecodeSpeed", dependencies: ["BenchmarkSupport", .product(name: "Inflight", package: "inflight")]),
        .executableTarget(
            name: "IsolatedSpeed",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightVips", package: "inflight"),
            ]),
        .executableTarget(
            name: "DecodeMemory", dependencies: ["BenchmarkSupport", .product(name: "Inflight", package: "inflight")]),
        .executableTarget(
            name: "ProbeSpeed", dependencies: ["BenchmarkSupport", .product(name: "Inflight", package: "inflight")]),
        .executableTarget(
            name: "DecodeCancel",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
            ]),
        // The processors, each on one core.
        .executableTarget(
            name: "ProcessorSpeed", dependencies: ["BenchmarkSupport", .product(name: "Inflight", package: "inflight")]),
        // The patterns of `InflightConcurrency` beside a bare lock, queues and an actor; allocations are counted in C.
        .target(name: "CAllocationCount"),
        .executableTarget(
            name: "PatternCosts",
            dependencies: ["CAllocationCount", .product(name: "InflightConcurrency", package: "inflight")]),
        // Transport, decoder and callback queue that one thread moves by itself.
        .target(
            name: "OneThread",
            dependencies: [
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
        // A loader's and a prefetcher's load beside the pipeline's own.
        .executableTarget(
            name: "LoaderCosts",
            dependencies: ["BenchmarkSupport", "OneThread", .product(name: "Inflight", package: "inflight")]),
        // A load with nobody who listens to the pipeline, with a listener that does nothing, and with a meter.
        .executableTarget(
            name: "ListenerCosts",
            dependencies: ["BenchmarkSupport", "OneThread", .product(name: "Inflight", package: "inflight")]),
        // Steps of the simulator on one core.
        .executableTarget(
            name: "SimulatorSpeed",
            dependencies: ["BenchmarkSupport", .product(name: "InflightTestSupport", package: "inflight")]),
        // How soon a cancelled transfer's connection is closed.
        .executableTarget(
            name: "CancelLatency",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
