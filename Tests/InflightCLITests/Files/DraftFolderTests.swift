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

    @Test("What a killed run has left is removed by the next, and what a run that lives has is not")
    func abandoned() throws {
        try open { directory in
            var dead: DraftFolder? = try DraftFolder(in: directory)
            let name = try #require(place.names.first)
            for draft in ["1", "2"] { place.write("\(name)/\(draft)", "half") }
            let living = try DraftFolder(in: directory)
            #expect(place.names.count == 2 && TemporaryDirectory.names(place.appending(name)).count == 3)
            // Its lock ends as the kernel ends it with a process.
            withExtendedLifetime(dead) {}
            dead = nil
            let next = try DraftFolder(in: directory)
            #expect(place.names.count == 2 && !place.names.contains(name))
            for folder in [living, next] { folder.remove() }
            #expect(place.names.isEmpty)
        }
    }

    @Test("What is not a run's folder stays: files, links, others' folders, and folders with folders in them")
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
