import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The base of tests of several runs in the folder `out`. The server has an image for each path, which changes
/// (``change()``), except below `/same`, and answers conditional requests.
class OutputFolderSuite {
    let place = TemporaryDirectory()
    let server: LoopbackServer
    private let version = Guarded(0)

    init() throws {
        server = try LoopbackServer()
        server.serveOthers { [version] request in
            let isSame = request.path.hasPrefix("/same")
            let current = version.withLock { isSame ? 0 : $0 }
            let tag = isSame ? "\"same\"" : "\"\(current)\""
            if request.fields["if-none-match"] == tag { return .status(304).field("ETag", tag) }
            return .ok(Bytes(Self.body(request.path, current)), type: "image/png").field("ETag", tag)
        }
    }

    /// Changes the images of the server.
    func change() { version.withLock { $0 += 1 } }

    /// The server's image of a path: the current one, or that of a version.
    func body(_ path: String, version: Int? = nil) -> [UInt8] {
        Self.body(path, path.hasPrefix("/same") ? 0 : version ?? self.version.withLock(\.self))
    }

    /// A small image, a different one for each path and version. Its width is 9 for `/a/1.png`.
    static func body(_ path: String, _ version: Int) -> [UInt8] {
        let code = path.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 65_521 }
        let pixels = unsafe PixelBuffer(width: path == "/a/1.png" ? 9 : 8, height: 4, format: .rgbx) { memory in
            for place in 0..<(path == "/a/1.png" ? 9 : 8) * 4 {
                for (channel, value) in [code & 0xFF, code >> 8, version, 255].enumerated() {
                    unsafe memory[place * 4 + channel] = UInt8(truncatingIfNeeded: value)
                }
            }
        }
        guard let file = try? TestImages.codecs.encode(pixels, options: EncodeOptions(format: .png)) else {
            preconditionFailure("PNG cannot be encoded")
        }
        return file.array
    }

    /// Runs `get` for paths of the server, with `-o out --json`.
    func run(_ paths: [String], _ options: [String] = []) -> CommandResult {
        place.run(["get"] + paths.map { server.url($0) } + ["-o", "out", "--json"] + options)
    }

    /// The shell code before a command that runs it under `strace` with options. Without `strace`, the status is 99.
    func traced(_ options: String) -> String {
        """
        command -v strace > /dev/null || { echo 'no strace: Scripts/deps.sh test installs it' >&2; exit 99; }
        set -- strace -f -qq -o trace \(options) "$@"
        """
    }

    /// Runs `get` successfully.
    func get(_ paths: [String], _ options: String...) throws -> [Line] {
        let result = run(paths, options)
        #expect(result.status == 0, "\(paths) \(options): \(result.errors)")
        return try result.lines
    }

    /// Stores paths, and checks the names of their files and that these hold the current images.
    func stored(_ paths: [String], as names: [String]) throws {
        let lines = try get(paths)
        #expect(lines.map(\.outcome) == paths.map { _ in "ok" })
        #expect(lines.map(\.file) == names.map { "out/" + $0 })
        for (path, name) in zip(paths, names) { #expect(place.holds("out/" + name, body(path)), "\(path)") }
    }

    /// Checks that files hold the current images of paths.
    func check(_ names: [String: String]) throws {
        for (path, name) in names { #expect(place.holds("out/" + name, body(path)), "\(path) in \(name)") }
    }

    /// Removes the folder with all its files.
    func clear() { TemporaryDirectory.remove(place.appending("out")) }

    /// Runs shell commands in the test's folder.
    func shell(_ commands: String) { _ = place.run(["--version"], prefix: commands) }
}

extension TemporaryDirectory {
    /// The names in a folder that `get -o` has written, without its index.
    func files(in folder: String) -> [String] {
        Self.names(appending(folder)).filter { $0 != FolderIndex.fileName }
    }

    /// The inode of a file: another one if the file was replaced.
    func inode(_ name: String) -> UInt? {
        var status = stat()
        return unsafe lstat(appending(name), &status) == 0 ? UInt(status.st_ino) : nil
    }
}
