// swift-tools-version: 6.3
import PackageDescription

// What `make fuzz` builds: one program with all targets, which Scripts/fuzz.py builds with `-sanitize=fuzzer,address`
// and with testing enabled. Without these it does not link: libFuzzer has its `main`.
let package = Package(
    name: "inflight-fuzzing",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        .executableTarget(
            name: "InflightFuzz",
            // `Inflight` brings the back ends.
            dependencies: [
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightCore", package: "inflight"),
                .product(name: "InflightDisk", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
            ],
            swiftSettings: [
                .strictMemorySafety(),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ])
    ]
)
