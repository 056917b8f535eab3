import Glibc
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct AtomicFileTests {
    private let place = TemporaryDirectory()

    @Test("A file appears complete when it is finished, and leaves no temporary file")
    func finishes() throws {
        place.write("report", "before")
        let file = try AtomicFile(place.appending("report"))
        #expect(place.holds("report", Array("before".utf8)))
        try file.finish(Array("after".utf8))
        #expect(place.holds("report", Array("after".utf8)))
        #expect(place.names == ["report"])
    }

    @Test("Abandoning a file leaves the existing one unchanged")
    func abandons() throws {
        place.write("report", "before")
        try AtomicFile(place.appending("report")).abandon()
        #expect(place.holds("report", Array("before".utf8)))
        #expect(place.names == ["report"])
    }

    @Test("A symbolic link stays a link, and its target is replaced")
    func link() throws {
        place.write("file", "before")
        #expect(unsafe symlink("file", place.appending("link")) == 0)
        try AtomicFile(place.appending("link")).finish(Array("after".utf8))
        #expect(place.holds("file", Array("after".utf8)))
        var status = stat()
        #expect(unsafe lstat(place.appending("link"), &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test("A link of another user is refused anywhere in a chain, and its target stays unchanged")
    func othersLink() throws {
        try #require(geteuid() == 0, "only root can make another user's link")
        place.write("file", "before")
        #expect(unsafe symlink("file", place.appending("planted")) == 0)
        #expect(unsafe lchown(place.appending("planted"), 65534, 65534) == 0)
        #expect(unsafe symlink("planted", place.appending("own")) == 0)
        for name in ["planted", "own"] {
            #expect(throws: SystemError(code: ELOOP)) { try AtomicFile(place.appending(name)) }
        }
        #expect(place.holds("file", Array("before".utf8)) && place.names == ["file", "own", "planted"])
    }

    @Test("A directory, a device or a missing folder is refused at once")
    func refuses() {
        #expect(throws: SystemError(code: EISDIR)) { try AtomicFile(place.path) }
        #expect(throws: SystemError(code: EINVAL)) { try AtomicFile("/dev/null") }
        #expect(throws: SystemError(code: ENOENT)) { try AtomicFile(place.appending("none/report")) }
    }
}
