// swift-tools-version: 6.3
import PackageDescription

// One program with all fuzz targets, for `make fuzz`. Scripts/fuzz.py builds it with `-sanitize=fuzzer,address` and
// with testing enabled. It does not link without libFuzzer, which provides `main`.
let package = Package(
    name: "inflight-fuzzing",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        .executableTarget(
            name: "InflightFuzz",
            // `Inflight` links the back ends.
            dependencies: [
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightCore", package: "inflight"),
                .product(name: "InflightImages", package: "inflight"),
                .product(name: "InflightDisk", package: "inflight"),
                .product(name: "InflightBatch", package: "inflight"),
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
