// swift-tools-version: 6.3
import PackageDescription

// The settings that every Swift target shares. Swift 6 mode is the default of this tools version.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Optimise loops over pixels in debug builds, too. Otherwise decoding takes up to 250 times as long.
let optimized: [SwiftSetting] = [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

// GLib's headers, which libvips's include. A system library with `pkgConfig` would find them elsewhere too, but then
// SwiftPM warns in every build of any product on a machine without libvips.
let glib: [CSetting] = [
    .unsafeFlags(
        ["-I/usr/include/glib-2.0"]
            + ["lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib"].map { "-I/usr/\($0)/glib-2.0/include" })
]

// SwiftPM compiles a client again only if the file of a module in its products has changed, and the file of a module
// stays the same if only a module behind it has changed. So each product lists the modules whose types clients contain,
// and each program below depends on them; otherwise an update would link code that knows an older layout of a type.
let images = ["InflightImages", "InflightConcurrency"]
let engine = ["InflightCore"] + images

let package = Package(
    name: "inflight",
    products: [
        .library(name: "Inflight", targets: ["Inflight", "InflightCurl", "InflightDisk", "InflightWorker"] + engine),
        .library(name: "InflightCore", targets: engine),
        .library(name: "InflightImages", targets: images),
        .library(name: "InflightConcurrency", targets: ["InflightConcurrency"]),
        .library(name: "InflightPatterns", targets: ["InflightPatterns", "InflightConcurrency"]),
        .library(name: "InflightFoundation", targets: ["InflightFoundation"] + engine),
        .library(name: "InflightCurl", targets: ["InflightCurl"] + engine),
        .library(name: "InflightDisk", targets: ["InflightDisk"] + engine),
        .library(name: "InflightCodecs", targets: ["InflightCodecs"] + images),
        .library(name: "InflightCodings", targets: ["InflightCodings"] + engine),
        .library(name: "InflightWorker", targets: ["InflightWorker"] + engine),
        .library(name: "InflightSandbox", targets: ["InflightSandbox", "InflightWorker"] + engine),
        .library(name: "InflightVips", targets: ["InflightVips", "InflightCodecs"] + images),
        .library(name: "InflightTestSupport", targets: ["InflightTestSupport", "InflightContract"] + engine),
        // Without public names; for the fuzz targets.
        .library(name: "InflightBatch", targets: ["InflightBatch"]),
        .executable(name: "inflight", targets: ["InflightCLI"]),
        .executable(name: "inflight-decoder", targets: ["InflightDecoder"]),
        .executable(name: "inflight-decoder-vips", targets: ["InflightVipsDecoder"]),
        .executable(name: "inflight-lab", targets: ["InflightLab"]),
        .executable(name: "inflight-demo", targets: ["InflightDemo"]),
        .executable(name: "inflight-simulate", targets: ["InflightSimulate"]),
        .executable(name: "inflight-stress", targets: ["InflightStress"]),
        .executable(name: "inflight-crash", targets: ["InflightCrash"]),
    ],
    targets: [
        // Concurrency and engine: no C library.
        .target(name: "CInflightConcurrency"),
        .target(name: "InflightConcurrency", dependencies: ["CInflightConcurrency"]),
        // Files and folders by calls of the system, for the cookies, the disk cache, the programs and the test kit.
        .target(name: "InflightFiles"),
        // The patterns that asynchronous classes of other programs use. Nothing that loads an image depends on them.
        .target(name: "InflightPatterns", dependencies: ["CInflightConcurrency", "InflightConcurrency"]),
        .target(name: "CInflightImages", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),
        .target(
            name: "InflightImages", dependencies: ["CInflightImages", "InflightConcurrency"], swiftSettings: optimized),
        .target(name: "InflightCore", dependencies: ["InflightImages", "InflightConcurrency", "InflightFiles"]),
        .target(name: "InflightFoundation", dependencies: ["InflightCore", "InflightConcurrency"]),

        // Back ends: each C library behind one C target, imported by one Swift target.
        .target(name: "CInflightCurl", linkerSettings: ["cares", "idn2"].map { .linkedLibrary($0) }),
        .target(name: "InflightCurl", dependencies: ["CInflightCurl", "InflightCore", "InflightConcurrency"]),
        .target(
            name: "CInflightCodecs",
            linkerSettings: ["jpeg", "png", "deflate", "z", "webp", "lcms2"].map { .linkedLibrary($0) }),
        .target(name: "CInflightSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "InflightSQLite", dependencies: ["CInflightSQLite"]),
        .target(
            name: "InflightDisk",
            dependencies: ["InflightSQLite", "InflightCore", "InflightConcurrency", "InflightFiles"]),
        .target(
            name: "InflightCodecs", dependencies: ["CInflightCodecs", "InflightImages", "InflightConcurrency"],
            swiftSettings: optimized),
        .target(
            name: "CInflightCodings",
            linkerSettings: ["z", "brotlidec", "zstd"].map { .linkedLibrary($0) }),
        .target(name: "InflightCodings", dependencies: ["CInflightCodings", "InflightCore"]),
        // Only `inflight-decoder-vips`, tests and benchmarks use libvips. Programs that link the library do not depend
        // on it.
        .target(
            name: "CInflightVips", cSettings: glib,
            linkerSettings: ["vips", "jxl", "tiff", "gobject-2.0", "glib-2.0"].map { .linkedLibrary($0) }),
        .target(
            name: "InflightVips",
            dependencies: ["CInflightVips", "InflightCodecs", "InflightImages", "InflightConcurrency"]),

        // Sandboxed decoder processes: the client side, then the decoders and the sandbox that drops their privileges.
        .target(name: "CInflightWorker"),
        .target(name: "InflightWorker", dependencies: ["CInflightWorker", "InflightCore", "InflightConcurrency"]),
        .target(name: "CInflightSandbox", linkerSettings: [.linkedLibrary("seccomp")]),
        .target(
            name: "InflightSandbox",
            dependencies: ["CInflightSandbox", "InflightWorker", "InflightCore", "InflightConcurrency"]),
        .executableTarget(
            name: "InflightDecoder",
            dependencies: [
                "InflightSandbox", "InflightCodecs", "InflightWorker", "InflightCore", "InflightImages",
                "InflightConcurrency",
            ]),
        .executableTarget(
            name: "InflightVipsDecoder",
            dependencies: [
                "InflightSandbox", "InflightVips", "InflightCodecs", "InflightWorker", "InflightCore", "InflightImages",
                "InflightConcurrency",
            ]),

        // Assembly, command, demo.
        .target(
            name: "Inflight",
            dependencies: [
                "InflightConcurrency", "InflightImages", "InflightCore", "InflightCurl", "InflightDisk",
                "InflightCodecs", "InflightCodings", "InflightWorker",
            ]),
        // What `inflight batch` does: input rows, journal, politeness to hosts, shards.
        .target(name: "CInflightBatch", linkerSettings: [.linkedLibrary("crypto")]),
        .target(
            name: "InflightBatch",
            dependencies: [
                "CInflightBatch", "InflightPrograms", "InflightCodings", "InflightSQLite", "InflightImages",
                "InflightCore", "InflightConcurrency", "InflightFiles",
            ]),
        .testTarget(
            name: "InflightBatchTests",
            dependencies: [
                "InflightBatch", "Inflight", "InflightCodings", "InflightSQLite", "InflightImages", "InflightCore",
                "InflightConcurrency", "CDiskFaults", "InflightTestSupport",
            ]),
        // The page of `get --report`, edited as files in `Page` and embedded in the command as bytes.
        .target(name: "CInflightReport", exclude: ["Page"]),
        .executableTarget(
            name: "InflightCLI",
            dependencies: [
                "CInflightReport", "InflightPrograms", "Inflight", "InflightBatch", "InflightCore", "InflightImages",
                "InflightConcurrency", "InflightFiles", "InflightCurl", "InflightDisk", "InflightSQLite",
                "InflightWorker",
            ]),
        // What `inflight` and `inflight-lab` share: streams, texts, JSON, files, signals, the call of one by the other.
        .target(name: "InflightPrograms", dependencies: ["InflightConcurrency", "InflightFiles"]),
        // The program of `inflight lab`: of the installed ones, the only one that needs all of Foundation.
        .target(name: "CInflightLab"),
        .executableTarget(
            name: "InflightLab",
            dependencies: [
                "CInflightLab", "InflightPrograms", "InflightPatterns", "Inflight", "InflightFoundation",
                "InflightCore", "InflightImages", "InflightConcurrency", "InflightFiles", "InflightCurl",
                "InflightDisk", "InflightWorker",
            ]),
        .executableTarget(
            name: "InflightDemo",
            dependencies: [
                "Inflight", "InflightCore", "InflightImages", "InflightConcurrency", "InflightCurl", "InflightDisk",
                "InflightWorker", "InflightTestSupport",
            ],
            swiftSettings: optimized),

        // The test kit.
        .target(name: "CInflightTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(
            name: "InflightTestSupport",
            dependencies: [
                "CInflightTLS", "CInflightConcurrency", "InflightCore", "InflightConcurrency", "InflightFiles",
                "InflightContract",
            ]),
        // The contract as a model. It sees only what a user of the package sees, and the compiler enforces that.
        .target(name: "InflightContract", dependencies: ["InflightCore"], packageAccess: false),
        .executableTarget(
            name: "InflightSimulate", dependencies: ["InflightTestSupport", "InflightConcurrency"], packageAccess: false
        ),
        // Stress tests with real threads and real queues of every kind, including `OperationQueue`.
        .executableTarget(
            name: "InflightStress",
            dependencies: [
                "InflightTestSupport", "InflightFoundation", "InflightCore", "InflightConcurrency", "InflightCurl",
            ]),
        .testTarget(
            name: "InflightStressTests",
            dependencies: [
                "InflightStress", "InflightTestSupport", "InflightFoundation", "InflightCore", "InflightConcurrency",
            ]),
        // Kills processes while they write to a disk cache, and checks the files that remain.
        .executableTarget(
            name: "InflightCrash",
            dependencies: [
                "InflightDisk", "InflightCore", "InflightConcurrency", "InflightFiles", "InflightTestSupport",
            ]),
        .testTarget(
            name: "InflightDemoTests", dependencies: ["InflightDemo", "Inflight", "InflightConcurrency"]),
        .testTarget(
            name: "InflightTestSupportTests",
            dependencies: [
                "InflightTestSupport", "InflightContract", "CInflightTLS", "InflightCore", "InflightConcurrency",
                "InflightCurl",
            ]),

        // Tests.
        .testTarget(
            name: "InflightCurlTests",
            dependencies: ["InflightCurl", "InflightCore", "InflightConcurrency", "InflightTestSupport"]),
        // A SQLite VFS that injects faults for the disk tests.
        .target(name: "CDiskFaults", path: "Tests/CDiskFaults", linkerSettings: [.linkedLibrary("sqlite3")]),
        .testTarget(
            name: "InflightDiskTests",
            dependencies: [
                "InflightDisk", "InflightSQLite", "CDiskFaults", "InflightCore", "InflightConcurrency", "InflightFiles",
                "InflightTestSupport",
            ]),
        .testTarget(
            name: "InflightCLITests",
            dependencies: [
                "InflightCLI", "InflightPrograms", "InflightLab", "InflightBatch", "Inflight", "InflightCore",
                "InflightConcurrency", "InflightFiles", "InflightDisk", "InflightSQLite", "InflightWorker",
                "InflightPictures",
                "InflightTestSupport",
            ], exclude: ["Fixtures"]),
        .testTarget(
            name: "InflightLabTests",
            dependencies: ["InflightLab", "InflightPrograms", "InflightConcurrency", "InflightTestSupport"]),
        .testTarget(
            name: "InflightCoreTests",
            // The contract tests also cover Foundation's `LoadOperation`, and their last rule covers the disk cache.
            dependencies: [
                "InflightCore", "InflightConcurrency", "InflightFoundation", "InflightDisk", "InflightTestSupport",
            ]),
        .testTarget(
            name: "InflightImagesTests",
            dependencies: ["InflightImages", "InflightConcurrency", "InflightTestSupport"]),
        .testTarget(
            name: "InflightFoundationTests",
            dependencies: ["InflightFoundation", "InflightCore", "InflightConcurrency", "InflightTestSupport"]),
        .testTarget(
            name: "InflightTests",
            dependencies: [
                "Inflight", "InflightCore", "InflightConcurrency", "InflightCodecs", "InflightWorker",
                "InflightPictures", "InflightTestSupport",
            ]),
        // Small images made by other programs, and their expected appearance.
        .target(name: "InflightPictures", dependencies: ["InflightCore"], path: "Tests/InflightPictures"),
        .testTarget(
            name: "InflightCodecsTests",
            dependencies: [
                "InflightCodecs", "InflightPictures", "InflightCore", "InflightConcurrency", "InflightTestSupport",
            ]),
        .testTarget(
            name: "InflightVipsTests",
            dependencies: [
                "InflightVipsDecoder", "InflightVips", "CInflightVips", "InflightCodecs", "InflightPictures",
                "InflightCore",
                "InflightConcurrency", "InflightTestSupport",
            ]),
        // A decoder that misbehaves on purpose.
        .executableTarget(
            name: "FaultyDecoder",
            dependencies: [
                "InflightSandbox", "InflightWorker", "InflightCodecs", "InflightCore", "InflightConcurrency",
            ],
            path: "Tests/FaultyDecoder"),
        .testTarget(
            name: "InflightWorkerTests",
            dependencies: [
                "InflightWorker", "InflightSandbox", "InflightDecoder", "InflightVipsDecoder", "FaultyDecoder",
                "Inflight", "InflightCodecs",
                "InflightPictures", "InflightCore",
                "InflightConcurrency", "InflightTestSupport",
            ]),
        .testTarget(
            name: "InflightCodingsTests", dependencies: ["InflightCodings", "InflightCore", "InflightTestSupport"]),
        // The targets of `make fuzz`, run with their seeds.
        .testTarget(
            name: "InflightFuzzTests",
            dependencies: [
                "InflightBatch", "InflightCodecs", "InflightCodings", "InflightConcurrency", "InflightCore",
                "InflightCurl", "InflightDisk", "InflightImages", "InflightTestSupport",
            ],
            path: "Fuzzing", exclude: ["Package.swift", "Seeds", "Sources/InflightFuzz/Entry.swift"],
            sources: ["Sources/InflightFuzz", "Tests"]),
        .testTarget(
            name: "InflightConcurrencyTests", dependencies: ["InflightConcurrency", "InflightTestSupport"]),
        // The patterns are also tested on `OperationQueue`.
        .testTarget(
            name: "InflightPatternsTests",
            dependencies: ["InflightPatterns", "InflightConcurrency", "InflightFoundation", "InflightTestSupport"]),
    ]
)

// The sanitizers' builds leave out the tests and programs that they do not run (`make sanitize`): whole targets, and
// folders of targets, as in `CoreTests/HTTP`.
let leftOut = Context.environment["INFLIGHT_LEFT_OUT"]?.split(separator: " ") ?? []
package.targets.removeAll { leftOut.contains($0.name.dropFirst("Inflight".count)) }
for target in package.targets {
    let folder = target.name.dropFirst("Inflight".count) + "/"
    target.exclude += leftOut.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
}
package.products.removeAll { product in
    (product as? Product.Executable)?.targets.contains { leftOut.contains($0.dropFirst("Inflight".count)) } ?? false
}

for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
    target.swiftSettings = settings + (target.swiftSettings ?? [])
}

/// The folder below `Sources` of each target that is not part of the tests.
let folders = [
    "Kit": ["CInflightConcurrency", "InflightConcurrency", "InflightFiles"],
    "Patterns": ["InflightPatterns", "CInflightLab", "InflightLab"],
    "Engine": ["CInflightImages", "InflightImages", "InflightCore", "InflightFoundation", "Inflight"],
    "BackEnds": [
        "CInflightCurl", "InflightCurl", "CInflightSQLite", "InflightSQLite", "InflightDisk", "CInflightCodings",
        "InflightCodings",
    ],
    "Decoders": [
        "CInflightCodecs", "InflightCodecs", "CInflightVips", "InflightVips", "CInflightWorker",
        "InflightWorker", "CInflightSandbox", "InflightSandbox", "InflightDecoder", "InflightVipsDecoder",
    ],
    "Command": [
        "CInflightBatch", "InflightBatch", "CInflightReport", "InflightPrograms", "InflightCLI", "InflightDemo",
    ],
    "Verification": [
        "InflightContract", "CInflightTLS", "InflightTestSupport", "InflightSimulate", "InflightStress",
        "InflightCrash",
    ],
]
for (folder, names) in folders {
    for target in package.targets where names.contains(target.name) {
        target.path = "Sources/\(folder)/\(target.name)"
    }
}
