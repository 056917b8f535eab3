// swift-tools-version: 6.3
import PackageDescription

// The programs in `Sources`, which README.md lists, and the products that each imports.
let programs: [(name: String, products: [String])] = [
    ("first-picture", ["Inflight"]),
    ("save-image", ["Inflight", "InflightTestSupport"]),
    ("cell", ["Inflight", "InflightTestSupport"]),
    ("download-manager", ["Inflight", "InflightFoundation", "InflightTestSupport"]),
    ("custom-transport", ["Inflight", "InflightCore", "InflightConcurrency"]),
    ("processor", ["Inflight", "InflightCore", "InflightConcurrency", "InflightTestSupport"]),
    ("codec", ["Inflight", "InflightCore", "InflightConcurrency", "InflightTestSupport"]),
    ("prefetch", ["Inflight"]),
    ("disk-cache", ["Inflight", "InflightTestSupport"]),
    ("view-model-tests", ["Inflight", "InflightConcurrency", "InflightTestSupport"]),
    ("core-only", ["InflightCore"]),
    ("concurrency-kit", ["InflightPatterns"]),
    ("previews-and-gif", ["Inflight", "InflightTestSupport"]),
    ("processor-gallery", ["Inflight"]),
    ("thumbnail-service", ["Inflight"]),
]

// The programs in `Patterns`, one for each pattern of `InflightPatterns`.
let patterns = [
    "background-work", "bridges", "callback-chain", "callback-queue", "cancellation", "confined-class", "gate", "group",
    "guarded", "lane", "overlap-policy", "release-policy", "thread-safe-class",
]

func program(_ name: String, in folder: String, _ products: [String]) -> Target {
    .executableTarget(
        name: name, dependencies: products.map { .product(name: $0, package: "inflight") }, path: "\(folder)/\(name)")
}

let package = Package(
    name: "inflight-examples",
    dependencies: [.package(name: "inflight", path: "..")],
    targets: programs.map { program($0.name, in: "Sources", $0.products) }
        + patterns.map { program($0, in: "Patterns", ["InflightPatterns"]) }
)

// Compiled in Swift 5 mode, to show that programs in an older language mode can use the library.
for target in package.targets where target.name == "download-manager" {
    target.swiftSettings = [.swiftLanguageMode(.v5)]
}
