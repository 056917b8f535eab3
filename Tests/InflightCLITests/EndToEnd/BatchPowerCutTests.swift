import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// What a power cut, or a failing disk, does to images that wait for their shard: nothing has synchronized them, so
/// that any bytes may read as zeros, and the end may be missing.
@Suite("Batch after a power cut", .timeLimit(.minutes(15)))
final class BatchPowerCutTests: EndToEndSuite {
    private static let options = [
        "--format", "png", "--allow-private", "--ignore-robots", "--concurrency", "1", "--shard-size", "3",
    ]
    /// The images. Row 4 is a duplicate of row 0, row 6 is missing.
    private static let rows = [0, 1, 2, 3, 0, 4, 9, 5]

    private var urls: [String] { Self.rows.map { server.url("/\($0).png") } }

    override init() throws {
        try super.init()
        for index in 0..<6 {
            server.serve("/\(index).png", .ok(try Self.image(index)))
        }
        place.write("in.txt", urls.map { $0 + "\n" }.joined())
    }

    private static func image(_ seed: Int) throws -> Bytes {
        try TestImages.codecs.encode(
            TestImages.noise(24 + seed, 16, seed: seed), options: EncodeOptions(format: .png))
    }

    /// What the cut does to the bytes of a file of staged images.
    enum Loss: CaseIterable {
        case none, first, middle, last, all, end, file

        func strike(_ bytes: [UInt8]) -> [UInt8]? {
            let count = bytes.count
            func zeroed(_ range: Range<Int>) -> [UInt8] {
                var bytes = bytes
                for index in range { bytes[index] = 0 }
                return bytes
            }
            switch self {
            case .none: return bytes
            case .first: return zeroed(0..<min(100, count))
            case .middle: return zeroed(count / 3..<count * 2 / 3)
            case .last: return zeroed(max(0, count - 100)..<count)
            case .all: return zeroed(0..<count)
            case .end: return Array(bytes.prefix(count - 1))
            case .file: return nil
            }
        }
    }

    /// - Parameter shard: The only shard whose images are lost; nil for all.
    private func strike(_ loss: Loss, _ folder: String, shard: Int? = nil) throws {
        for name in TemporaryDirectory.names(place.appending("\(folder)/staging")) {
            if let shard, Int(name) != shard { continue }
            // The file of a shard that is finished meanwhile is removed.
            let path = place.appending("\(folder)/staging/\(name)")
            guard let bytes = TemporaryDirectory.read(path), !bytes.isEmpty else { continue }
            if let left = loss.strike(bytes) { Self.overwrite(path, left) } else { TemporaryDirectory.remove(path) }
        }
    }

    /// Replaces the bytes of a file, also for those who have it open.
    private static func overwrite(_ path: String, _ bytes: [UInt8]) {
        let file = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        unsafe bytes.withUnsafeBytes { bytes in
            precondition(unsafe pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count)
        }
        precondition(ftruncate(file, bytes.count) == 0)
        close(file)
    }

    /// The files of a finished run, without statistics, whose durations differ.
    private func output(_ folder: String) -> [String: [UInt8]] {
        let names = TemporaryDirectory.names(place.appending(folder)).filter {
            $0.hasSuffix(".tar") || $0.hasSuffix(".zst")
        }
        return Dictionary(uniqueKeysWithValues: names.map { ($0, place.read("\(folder)/\($0)") ?? []) })
    }

    private func undisturbed() -> [String: [UInt8]] {
        let result = place.run(["batch", "in.txt", "-o", "whole"] + Self.options)
        #expect(result.status == 0, "\(result.errors)")
        return output("whole")
    }

    /// Starts a run, and returns it when it waits for the response to this image, which is held under a name.
    private func run(_ folder: String, until image: Int, _ options: String...) throws -> (RunningCommand, hold: String)
    {
        let hold = "\(folder) \(image)"
        server.serve("/\(image).png", .ok(try Self.image(image)).held(hold))
        let command = RunningCommand(["batch", "in.txt", "-o", folder] + Self.options + options, in: place)
        try server.blockUntilHeld(hold)
        server.serve("/\(image).png", .ok(try Self.image(image)))
        return (command, hold)
    }

    @Test("A cut at any row, of any part of the staged images, costs requests, but no image", arguments: Loss.allCases)
    func cut(loss: Loss) throws {
        let whole = undisturbed()
        #expect(whole.count == 6)
        for image in 1...5 {
            let folder = "out-\(image)"
            let (command, _) = try run(folder, until: image)
            command.signal(SIGTERM)
            #expect(command.wait().status == 143)
            try strike(loss, folder)
            let requests = server.requestCount(of: "/0.png")
            let result = place.run(["batch", "in.txt", "-o", folder] + Self.options)
            #expect(result.status == 0, "\(result.errors)")
            #expect(output(folder) == whole, "cut at the request of image \(image)")
            #expect(place.run(["batch", "verify", folder]).status == 0)
            // Nothing is fetched twice without need.
            if loss == .none { #expect(server.requestCount(of: "/0.png") == requests) }
        }
    }

    @Test("Images that the disk loses while the run waits are fetched again before their shard is written")
    func lossDuringRun() throws {
        let whole = undisturbed()
        for loss in [Loss.middle, .all] {
            for image in [2, 4] {
                let folder = "\(loss)-\(image)"
                let (command, hold) = try run(folder, until: image)
                // The shard before is being written: its images have been compared already.
                let row = try #require(Self.rows.lastIndex(of: image))
                try strike(loss, folder, shard: row / 3)
                server.release(hold)
                let result = command.wait()
                #expect(result.status == 0 && result.errors.contains("Fetching again."), "\(result.errors)")
                #expect(output(folder) == whole, "\(loss) at the request of image \(image)")
            }
        }
    }

    @Test("A file by digest that has its size, but not its bytes, is replaced")
    func hashedLayout() throws {
        #expect(place.run(["batch", "in.txt", "-o", "whole", "--layout", "hashed"] + Self.options).status == 0)
        let files = Self.images(place.appending("whole"), "")
        #expect(files.count == 6)
        let (command, hold) = try run("out", until: 1, "--layout", "hashed")
        for file in files {
            let folders = file.split(separator: "/").dropLast()
            for count in folders.indices {
                unsafe mkdir(place.appending("out/" + folders[...count].joined(separator: "/")), 0o755)
            }
            place.write("out/" + file, [UInt8](repeating: 0, count: place.read("whole/" + file)?.count ?? 0))
        }
        server.release(hold)
        #expect(command.wait().status == 0)
        for file in files { #expect(place.read("out/" + file) == place.read("whole/" + file), "\(file)") }
    }

    /// The paths of the images in a folder, relative to it.
    private static func images(_ root: String, _ folder: String) -> [String] {
        TemporaryDirectory.names(root + "/" + folder).flatMap { name in
            let path = folder.isEmpty ? name : folder + "/" + name
            return name.hasSuffix(".png") ? [path] : images(root, path)
        }
    }
}
