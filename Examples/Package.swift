// swift-tools-version: 6.3
import PackageDescription

// One program for each pattern of `InflightConcurrency`, in `Patterns/NAME`; what it prints stands at its end.
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
        // A view and a list: what loads pictures for them.
        .executableTarget(name: "photo-view", dependencies: [.product(name: "Inflight", package: "inflight")]),
        .executableTarget(name: "prefetch", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // Frames at their time, and one by itself.
        .executableTarget(name: "animation", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // What each processor makes of a picture.
        .executableTarget(name: "processor-gallery", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // A server: deadlines, load shedding, a graceful end.
        .executableTarget(name: "thumbnail-service", dependencies: [.product(name: "Inflight", package: "inflight")]),
        // The engine's values alone: links no C library.
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
