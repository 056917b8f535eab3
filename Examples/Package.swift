// swift-tools-version: 6.3
import PackageDescription

// One program for each pattern of `InflightConcurrency`, in `Patterns/NAME`. Its output is listed at its end.
let patterns = [
    "background-work", "bridges", "callback-chain", "callback-queue", "cancellation", "confined-class", "gate", "group",
    "guarded", "lane", "release-policy", "start-policy", "thread-safe-class",
]

let package = Package(
    name: "inflight-examples",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // The README's eight lines.
        .executableTarget(name: "first-picture", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // Image loading for a view and for a list.
        .executableTarget(name: "photo-view", dependencies: [.product(name: "Inflight", package: "inflight")]),
        .executableTarget(name: "prefetch", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // The frames of an animation as they come due, and one frame by itself.
        .executableTarget(name: "animation", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // The output of each processor.
        .executableTarget(name: "processor-gallery", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // A server with deadlines, load shedding, and graceful shutdown.
        .executableTarget(name: "thumbnail-service", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // The core alone, which links no C library.
        .executableTarget(name: "core-only", dependencies: [.product(name: "InflightCore", package: "inflight")]),
        // The engine behind an `OperationQueue`.
        .executableTarget(
            name: "download-manager", dependencies: [.product(name: "Inflight", package: "inflight")],
            path: "Patterns/download-manager"),
    ]
        + patterns.map { name in
            .executableTarget(
                name: name, dependencies: [.product(name: "InflightConcurrency", package: "inflight")],
                path: "Patterns/\(name)")
        }
)
