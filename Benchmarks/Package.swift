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
            name: "EvictionTraces", dependencies: [.product(name: "InflightCore", package: "inflight")])
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
