import FoundationEssentials
import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `pipeline.download`: long bodies, which are written while they are received.
@Suite("Downloads of long bodies", .timeLimit(.minutes(10)))
struct DownloadStreamTests {
    private static let body = Bytes((0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0) })
    private static let tag = ("ETag", "\"a\"")
    private static let chunk = 64 << 10
    private static let middle = 3 << 20

    private let folder = TemporaryDirectory()

    private var file: URL { URL(filePath: folder.appending("a.bin")) }

    /// A pipeline with memory for many bodies, in which downloads go to files beyond two megabytes.
    private func stage(_ scripts: ScriptedTransport.Script...) throws -> StoreStage {
        var retry = RetryPolicy()
        retry.firstDelay = .seconds(1)
        let stage = try StoreStage(retry: retry) {
            $0.maximumBodyBytesInFlight = 64 << 20
            $0.maximumConcurrentFetches = 1
        }
        stage.serve(StoreStage.url, scripts)
        return stage
    }

    private static var script: ScriptedTransport.Script {
        .ok(body, chunks: [chunk], fields: StoreStage.fields([("Cache-Control", "max-age=60"), tag]))
    }

    /// The number of bytes in open files of the folder that have no name.
    private var unnamedBytes: Int {
        TemporaryDirectory.names("/proc/self/fd").reduce(0) { sum, number in
            let path = "/proc/self/fd/\(number)"
            var status = stat()
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path),
                target.hasPrefix(folder.path + "/#"), unsafe stat(path, &status) == 0
            else { return sum }
            return sum + status.st_size
        }
    }

    private func written(_ name: String = "a.bin") -> Bytes? { folder.read(name).map { Bytes($0) } }

    @Test("The body is written while it is received, to a file without a name, and not kept in memory or the store")
    func streamed() async throws {
        let stage = try stage(Self.script.stalled("middle", after: Self.middle))
        let download = Task { try await stage.pipeline.download(StoreStage.url, to: file) }
        try await eventually("the first part to be in the file, and the rest in memory") {
            unnamedBytes >= 2 << 20 && stage.pipeline.statistics.bodyBytesInFlight <= 1 << 20
        }
        #expect(folder.names.isEmpty)
        stage.transport.release("middle")
        let response = try #require(try await download.value)
        #expect(response.head.status == 200 && response.source == .network && response.body.isEmpty)
        #expect(written() == Self.body && folder.names == ["a.bin"])
        await stage.settled()
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("An existing file keeps its permissions, and a new one gets those of the process")
    func permissions() async throws {
        let stage = try stage(Self.script)
        let status = String(decoding: TemporaryDirectory.read("/proc/self/status") ?? [], as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Umask:") })
        let mask = try #require(mode_t(line.dropFirst(6).drop { $0 == "\t" }, radix: 8))
        for expected in [0o666 & ~mask, 0o640] {
            if expected == 0o640 { unsafe chmod(file.path, expected) }
            try await stage.pipeline.download(StoreStage.url, to: file)
            var status = stat()
            #expect(unsafe stat(file.path, &status) == 0 && status.st_mode & 0o7777 == expected)
        }
        await stage.end()
    }

    @Test("Nothing is left of a download that breaks off, is cancelled or has another checksum")
    func failures() async throws {
        let stage = try stage(Self.script.failing(.badResponse, after: Self.middle))
        folder.write("a.bin", "kept")
        let broken = await #expect(throws: LoadError.self) {
            try await stage.waited { try await stage.pipeline.download(StoreStage.url, to: self.file) }
        }
        #expect(broken?.code == .badResponse)

        stage.serve(StoreStage.url, Self.script.stalled("middle", after: Self.middle))
        let download = Task { try await stage.pipeline.download(StoreStage.url, to: file) }
        try await stage.transport.wait(for: .started(StoreStage.url, .normal), count: 2)
        download.cancel()
        let cancelled = await #expect(throws: LoadError.self) { try await download.value }
        #expect(cancelled?.code == .cancelled)

        stage.serve(StoreStage.url, Self.script)
        var request = ImageRequest(StoreStage.url)
        request.checksum = Checksum("sha256:" + String(repeating: "0", count: 64))
        let wrong = request
        let damaged = await #expect(throws: LoadError.self) {
            try await stage.pipeline.download(wrong, to: file)
        }
        #expect(damaged?.code == .damaged)
        #expect(written() == Bytes("kept") && folder.names == ["a.bin"])
        await stage.end()
    }

    @Test("A broken transfer resumes in the file")
    func resumed() async throws {
        let rest = ScriptedTransport.Script.partial(
            Self.body.part(Self.middle..<Self.body.count), from: Self.middle, of: Self.body.count,
            fields: StoreStage.fields([Self.tag]))
        let stage = try stage(Self.script.failing(.truncated, after: Self.middle), rest)
        _ = try await stage.waited { try await stage.pipeline.download(StoreStage.url, to: self.file) }
        #expect(stage.sent.last?.fields["range"] == "bytes=\(Self.middle)-")
        #expect(written() == Self.body && folder.names == ["a.bin"])
        await stage.end()
    }

    @Test(
        "Two downloads share the fetch and get a file each, also if a load of the bytes joins",
        arguments: [false, true])
    func shared(joins: Bool) async throws {
        let stage = try stage(Self.script.stalled("middle", after: Self.middle))
        let downloads = ["a.bin", "b.bin"].map { name in
            Task { try await stage.pipeline.download(StoreStage.url, to: URL(filePath: folder.appending(name))) }
        }
        try await eventually("both downloads") { stage.pipeline.statistics.tasksInFlight == 2 }
        let load = joins ? Task { try await stage.pipeline.data(for: StoreStage.url).count } : nil
        if joins { try await eventually("all loads") { stage.pipeline.statistics.tasksInFlight == 3 } }
        stage.transport.release("middle")
        for download in downloads { #expect(try await download.value?.body.isEmpty == true) }
        if let load { #expect(try await load.value == Self.body.count) }
        #expect(written() == Self.body && written("b.bin") == Self.body && stage.sent.count == 1)
        folder.write("a.bin", "changed")
        #expect(written("b.bin") == Self.body && folder.names.sorted() == ["a.bin", "b.bin"])
        await stage.end()
    }

    @Test("A folder that takes no files fails before a request is sent, and a folder in the file's place after it")
    func unwritable() async throws {
        let stage = try stage(Self.script)
        for path in ["/proc/a.bin", folder.appending("none/a.bin")] {
            let error = await #expect(throws: LoadError.self) {
                try await stage.pipeline.download(StoreStage.url, to: URL(filePath: path))
            }
            #expect(error?.code == .cannotWrite && error?.message.contains(path) == true)
        }
        let notFile = await #expect(throws: LoadError.self) {
            try await stage.pipeline.download(StoreStage.url, to: URL(string: "https://a.example/b")!)
        }
        #expect(notFile?.code == .cannotWrite && stage.sent.isEmpty)
        #expect(unsafe mkdir(file.path, 0o777) == 0)
        let isFolder = await #expect(throws: LoadError.self) {
            try await stage.pipeline.download(StoreStage.url, to: file)
        }
        #expect(isFolder?.code == .cannotWrite && folder.names == ["a.bin"])
        await stage.end()
    }

    @Test("A full disk ends the download, and leaves an existing file")
    func fullDisk() async throws {
        // Only root may mount. 2 is MNT_DETACH.
        guard unsafe mount("tmpfs", folder.path, "tmpfs", 0, "size=2m") == 0 else { return }
        defer { unsafe umount2(folder.path, 2) }
        let stage = try stage(Self.script)
        folder.write("a.bin", "kept")
        let error = await #expect(throws: LoadError.self) {
            try await stage.pipeline.download(StoreStage.url, to: file)
        }
        #expect(error?.code == .cannotWrite && error?.message.contains("No space left on device") == true)
        #expect(written() == Bytes("kept") && folder.names == ["a.bin"])
        await stage.end()
    }
}
