import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct FileStoreTests {
    private let directory = TemporaryDirectory()

    @Test("A file store creates its directory with all parents")
    func making() throws {
        _ = try FileStore(directory: directory.appending("a/b//c/"))
        #expect(TemporaryDirectory.names(directory.appending("a/b")) == ["c"])
    }

    @Test("A draft is hidden until it is published, and closing leaves only published files")
    func publishing() throws {
        let store = try FileStore(directory: directory.path)
        let draft = try store.draft(Bytes("picture"))
        #expect(directory.names.count == 1 && directory.names[0].hasPrefix("."))
        try store.publish(draft, as: "a.jpg")
        store.close()
        #expect(directory.names == ["a.jpg"])
        #expect(directory.holds("a.jpg", Array("picture".utf8)))
    }

    @Test("Publishing replaces an existing file as a whole")
    func replacing() throws {
        directory.write("a.jpg", "something longer from earlier")
        let store = try FileStore(directory: directory.path)
        try store.publish(try store.draft(Bytes("new")), as: "a.jpg")
        #expect(directory.holds("a.jpg", Array("new".utf8)))
    }

    @Test("A symbolic link is replaced, not followed, and does not count as an existing file")
    func links() throws {
        directory.write("victim", "untouched")
        #expect(unsafe symlink("victim", directory.appending("a.jpg")) == 0)
        let store = try FileStore(directory: directory.path)
        #expect(!store.exists("a.jpg"))
        #expect(store.existing("a.jpg", limit: 1000) == nil)
        try store.publish(try store.draft(Bytes("new")), as: "a.jpg")
        #expect(directory.holds("victim", Array("untouched".utf8)))
        #expect(store.existing("a.jpg", limit: 1000) == Bytes("new"))
    }

    @Test("Closing removes all drafts and refuses new ones")
    func closing() throws {
        let store = try FileStore(directory: directory.path)
        for _ in 0..<3 { _ = try store.draft(Bytes("x")) }
        try store.publish(try store.draft(Bytes("done")), as: "a.jpg")
        store.close()
        #expect(directory.names == ["a.jpg"])
        #expect(throws: LoadError.self) { try store.draft(Bytes("y")) }
        #expect(directory.names == ["a.jpg"])
    }

    @Test("Publishing over a directory throws an error and leaves no draft")
    func inTheWay() throws {
        let store = try FileStore(directory: directory.path)
        _ = unsafe mkdir(directory.appending("a.jpg"), 0o755)
        let draft = try store.draft(Bytes("x"))
        let error = #expect(throws: LoadError.self) { try store.publish(draft, as: "a.jpg") }
        #expect(error?.code == .cannotWrite && error?.stage == .store)
        store.close()
        #expect(directory.names == ["a.jpg"])
    }

    @Test("An error names a directory that cannot be created", arguments: ["file", "file/out", "/proc/inflight/out"])
    func notADirectory(_ path: String) {
        directory.write("file", "x")
        let place = path.hasPrefix("/") ? path : directory.appending(path)
        let error = #expect(throws: LoadError.self) { try FileStore(directory: place) }
        #expect(error?.code == .cannotWrite)
        #expect(error?.message.contains(place) == true)
    }

    @Test(
        "Output paths are normalised for display",
        arguments: [
            ("out", "out/a"), ("./out/", "out/a"), (".", "a"), ("../x", "../x/a"), ("/", "/a"),
            ("/tmp//x/", "/tmp/x/a"),
        ])
    func shownPaths(_ path: String, _ expected: String) {
        let shown = FileStore.relative(path)
        #expect((shown == "." ? "a" : shown == "/" ? "/a" : shown + "/a") == expected)
    }
}
