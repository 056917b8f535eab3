// swift-tools-version: 6.3
import PackageDescription

// The settings of the root package.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let inflight = Target.Dependency.product(name: "Inflight", package: "inflight")
let core = Target.Dependency.product(name: "InflightCore", package: "inflight")
let concurrency = Target.Dependency.product(name: "InflightConcurrency", package: "inflight")
let testSupport = Target.Dependency.product(name: "InflightTestSupport", package: "inflight")

let package = Package(
    name: "inflight-gtk",
    products: [
        .library(name: "InflightGTK", targets: ["InflightGTK"]),
        .executable(name: "inflight-gallery", targets: ["InflightGallery"]),
    ],
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // GTK's headers and libraries.
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4"),
        .target(name: "CInflightGTK", dependencies: ["CGTK"]),
        .target(name: "InflightGTK", dependencies: ["CInflightGTK", core, concurrency]),
        .executableTarget(name: "InflightGallery", dependencies: ["InflightGTK", "CInflightGTK", inflight]),
        // Reads the pixels of a window, of this process or of another, from the X server.
        .target(
            name: "CXPixels", dependencies: ["CGTK"],
            linkerSettings: [.linkedLibrary("X11"), .linkedLibrary("Xext"), .linkedLibrary("Xtst")]),
        // Counts the bytes that are allocated and not freed.
        .target(name: "CAllocated"),
        // Simulates scrolling, and measures how long visible cells wait.
        .target(name: "ScrollTrials", dependencies: ["InflightGTK", core, concurrency, testSupport]),
        .executableTarget(name: "ScrollOrders", dependencies: ["ScrollTrials", "InflightGTK"]),
        // Checks that need a display and a main thread that GTK owns. `make test-gtk` runs them under Xvfb.
        .executableTarget(
            name: "GTKChecks",
            dependencies: [
                "InflightGTK", "CInflightGTK", "CXPixels", "CAllocated", "ScrollTrials", inflight, concurrency,
                testSupport,
            ]),
        // The program of an article, as its readers compile it.
        .executableTarget(name: "ArticleProgram", dependencies: ["InflightGTK", "CInflightGTK", inflight]),
        .testTarget(name: "InflightGTKTests", dependencies: ["InflightGTK", "ScrollTrials", core]),
    ]
)

for target in package.targets
where target.type != .system && !target.name.hasPrefix("C") && target.name != "ArticleProgram" {
    target.swiftSettings = settings
}
