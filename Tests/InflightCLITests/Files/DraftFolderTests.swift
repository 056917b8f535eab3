import Glibc
import InflightTestSupport
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct DraftFolderTests {
    private let place = TemporaryDirectory()

    /// Runs `body` with a descriptor of the directory.
    private func open(_ body: (Int32) throws -> Void) rethrows {
        let descriptor = unsafe Glibc.open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        try body(descriptor)
    }

    @Test("A new run removes the drafts of a killed run, but not those of a live one")
    func abandoned() throws {
        try open { directory in
            var dead: DraftFolder? = try DraftFolder(in: directory)
            let name = try #require(place.names.first)
            for draft in ["1", "2"] { place.write("\(name)/\(draft)", "half") }
            let living = try DraftFolder(in: directory)
            #expect(place.names.count == 2 && TemporaryDirectory.names(place.appending(name)).count == 3)
            // Releases its lock, as the kernel does when a process ends.
            withExtendedLifetime(dead) {}
            dead = nil
            let next = try DraftFolder(in: directory)
            #expect(place.names.count == 2 && !place.names.contains(name))
            for folder in [living, next] { folder.remove() }
            #expect(place.names.isEmpty)
        }
    }

    @Test("Cleanup keeps files, links, other folders, and folders that contain folders")
    func others() throws {
        place.write(".inflight-file", "x")
        #expect(unsafe symlink("elsewhere", place.appending(".inflight-link")) == 0)
        for name in ["elsewhere", ".inflight-nested", ".inflight-nested/deep", ".inflight-empty"] {
            #expect(unsafe mkdir(place.appending(name), 0o700) == 0)
        }
        place.write("elsewhere/lock", "x")
        try open { try DraftFolder(in: $0).remove() }
        #expect(place.names == [".inflight-file", ".inflight-link", ".inflight-nested", "elsewhere"])
        #expect(TemporaryDirectory.names(place.appending("elsewhere")) == ["lock"])
    }
}
