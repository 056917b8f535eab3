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
    name: "inflight-gtk",
    products: [
        .library(name: "InflightGTK", targets: ["InflightGTK"]),
        .executable(name: "inflight-gallery", targets: ["InflightGallery"]),
    ],
    dependencies: [.package(name: "inflight", path: "..")],
    targets: [
        // Where GTK's headers and libraries are.
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4"),
        .target(name: "CInflightGTK", dependencies: ["CGTK"]),
        .target(
            name: "InflightGTK",
            dependencies: [
                "CInflightGTK",
                .product(name: "InflightCore", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
            ]),
        .executableTarget(
            name: "InflightGallery",
            dependencies: ["InflightGTK", "CInflightGTK", .product(name: "Inflight", package: "inflight")]),
        // What the X server shows of a window, of this program's and of another's.
        .target(
            name: "CXPixels", dependencies: ["CGTK"],
            linkerSettings: [.linkedLibrary("X11"), .linkedLibrary("Xext"), .linkedLibrary("Xtst")]),
        // What has been allocated and not freed.
        .target(name: "CAllocated"),
        // How long what is seen waits, simulated and counted.
        .target(
            name: "ScrollTrials",
            dependencies: [
                "InflightGTK", .product(name: "InflightCore", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
        // Parts that need a display, and a main thread that GTK owns: run under Xvfb by `make test-gtk`.
        .executableTarget(
            name: "GTKChecks",
            dependencies: [
                "InflightGTK", "CInflightGTK", "CXPixels", "CAllocated", "ScrollTrials",
                .product(name: "Inflight", package: "inflight"),
                .product(name: "InflightConcurrency", package: "inflight"),
                .product(name: "InflightTestSupport", package: "inflight"),
            ]),
        .testTarget(
            name: "InflightGTKTests",
            dependencies: ["InflightGTK", "ScrollTrials", .product(name: "InflightCore", package: "inflight")]),
    ]
)

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings
}
