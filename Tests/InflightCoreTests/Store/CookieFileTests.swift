import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Cookies in a file", .timeLimit(.minutes(10)))
final class CookieFileTests {
    private static let url = "https://www.a.example/dir/1"
    private let directory = TemporaryDirectory()
    private let clock = VirtualClock()
    private var path: String { directory.appending("cookies.txt") }

    deinit {
        // Until it fires, the timer of a save retains the store, which retains the clock.
        clock.advance(by: .seconds(1))
    }

    private func open() throws(LoadError) -> ImagePipeline.CookieStore {
        try ImagePipeline.CookieStore(file: path, clock: clock)
    }

    /// Returns the cookies that a request to the URL sends.
    private func sent(_ store: ImagePipeline.CookieStore, to url: String = url) async throws -> String? {
        let stage = try StoreStage { $0.cookies = store }
        stage.serve(url, StoreStage.ok("image", ("Cache-Control", "no-store")))
        _ = try await stage.data(url)
        await stage.end()
        return stage.sent.last?.fields["cookie"]
    }

    private func set(_ cookies: [String], in store: ImagePipeline.CookieStore) async throws {
        let stage = try StoreStage { $0.cookies = store }
        stage.serve(Self.url, .status(200, StoreStage.fields(cookies.map { ("Set-Cookie", $0) })))
        _ = try await stage.get(Self.url)
        await stage.end()
    }

    private var text: String { String(decoding: directory.read("cookies.txt") ?? [], as: UTF8.self) }

    private var lines: [Substring] { text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("# ") } }

    private func permissions() -> mode_t {
        var found = stat()
        return unsafe stat(path, &found) == 0 ? found.st_mode & 0o7777 : 0
    }

    private func write(_ text: String, permissions: UInt32 = 0o600) {
        unsafe unlink(path)
        TemporaryDirectory.write(path, Array(text.utf8), permissions: permissions)
    }

    private func failure(_ body: () throws -> Void) -> LoadError? {
        do {
            try body()
            return nil
        } catch {
            return error.loadError
        }
    }

    @Test("Cookies outlive the store, except those of a session and expired ones, in a file of mode 0600")
    func roundTrip() async throws {
        let store = try open()
        #expect(permissions() == 0o600 && lines.isEmpty, "an empty file is created")
        try await set(
            [
                "a=1; Max-Age=600", "secret=x=y; Max-Age=600; Secure; HttpOnly; Path=/", "session=1",
                "gone=1; Max-Age=0", "tab=a\tb; Max-Age=600", "empty=; Max-Age=600",
            ], in: store)
        #expect(try await sent(store) == "a=1; session=1; tab=a\tb; empty=; secret=x=y")
        #expect(
            lines == [
                "www.a.example\tFALSE\t/dir\tFALSE\t1700000600\ta\t1",
                "#HttpOnly_www.a.example\tFALSE\t/\tTRUE\t1700000600\tsecret\tx=y",
                "www.a.example\tFALSE\t/dir\tFALSE\t1700000600\tempty\t",
            ], "the shutdown has saved them")
        #expect(permissions() == 0o600)
        #expect(directory.names == ["cookies.txt"], "no draft is left")
        let second = try open()
        #expect(try await sent(second) == "a=1; empty=; secret=x=y")
        #expect(try await sent(second, to: "http://www.a.example/dir/1") == "a=1; empty=")
        let later = VirtualClock()
        later.advance(by: .seconds(600))
        let late = try ImagePipeline.CookieStore(file: path, clock: later)
        #expect(late.counts.isEmpty)
        try late.save()
        #expect(lines.isEmpty)
    }

    @Test("A file that curl has written is read: domains, sessions, HttpOnly, line ends, a missing last field")
    func curl() async throws {
        write(
            """
            # Netscape HTTP Cookie File
            # https://curl.se/docs/http-cookies.html

            .a.example\tTRUE\t/\tFALSE\t1700000600\twide\t1\r
            www.a.example\tFALSE\t/dir\tTRUE\t0\tsession\t2
            #HttpOnly_WWW.a.example\tfalse\t/\tFALSE\t1700000600\tempty
            .a.example\tTRUE\t/\tFALSE\t1600000000\texpired\t1
            """)
        let store = try open()
        #expect(try await sent(store) == "session=2; wide=1; empty=")
        #expect(try await sent(store, to: "http://b.a.example/") == "wide=1")
        #expect(store.counts == ["a.example": 1, "www.a.example": 2])
        #expect(lines.count == 4, "a file without changes is not written")
    }

    @Test("A damaged file is an error with the number of the line, and none of its values")
    func damaged() throws {
        let good = "a.example\tFALSE\t/\tFALSE\t0\tname\thidden\n"
        let bad = [
            "a.example\tFALSE\t/\tFALSE\thidden", "a.example\tFALSE\t/\tFALSE\t0\tname\thidden\tmore",
            "a.example\tMAYBE\t/\tFALSE\t0\tname\thidden", "a.example\tFALSE\t/\tno\t0\tname\thidden",
            "a.example\tFALSE\tx\tFALSE\t0\tname\thidden", "a.example\tFALSE\t/\tFALSE\t-1\tname\thidden",
            "a.example\tFALSE\t/\tFALSE\tsoon\tname\thidden", "\tFALSE\t/\tFALSE\t0\tname\thidden",
            "a.example\tFALSE\t/\tFALSE\t0\t\thidden", "a.example\tFALSE\t/\tFALSE\t0\tname\thidden; other=1",
            "a.example\tFALSE\t/\tFALSE\t0\tname\thidden\u{1}", "\u{0}\u{0}\u{0}",
            "a.example\tFALSE\t/\tFALSE\t0\tname\t" + String(repeating: "hidden", count: 700), "{}",
        ]
        for line in bad {
            write("# one\n" + good + line + "\n" + good)
            let error = failure { _ = try open() }
            #expect(error?.code == .cannotRead && error?.stage == .store, "\(line.prefix(60))")
            let message = error?.message ?? ""
            #expect(message.contains(path) && message.contains("line 3") && message.contains("remove"), "\(message)")
            #expect(!message.contains("hidden"))
        }
    }

    @Test("A file that others may read, a link, a folder and a missing folder are errors with a remedy")
    func refused() throws {
        for permissions: UInt32 in [0o640, 0o604, 0o620] {
            write("", permissions: 0o600)
            #expect(unsafe chmod(path, permissions) == 0)
            let error = failure { _ = try open() }
            #expect(error?.code == .cannotRead && error?.message.contains("chmod 600") == true)
        }
        unsafe unlink(path)
        directory.write("target", "")
        #expect(unsafe symlink(directory.appending("target"), path) == 0)
        #expect(failure { _ = try open() }?.code == .cannotRead)
        unsafe unlink(path)
        #expect(unsafe mkfifo(path, 0o600) == 0)
        #expect(failure { _ = try open() }?.code == .cannotRead)
        unsafe unlink(path)
        #expect(unsafe mkdir(path, 0o700) == 0)
        #expect(failure { _ = try open() }?.code == .cannotRead)
        let missing = failure { _ = try ImagePipeline.CookieStore(file: directory.appending("none/cookies.txt")) }
        #expect(missing?.code == .cannotWrite && missing?.message.contains("none/cookies.txt") == true)
        // Not even root creates files there.
        let readOnly = failure { _ = try ImagePipeline.CookieStore(file: "/proc/self/cookies.txt") }
        #expect(readOnly?.code == .cannotWrite)
    }

    @Test("If the file cannot be replaced, it stays as it was, the cookies stay, and a later save writes them")
    func failingSave() async throws {
        let folder = directory.appending("folder")
        let away = directory.appending("away")
        #expect(unsafe mkdir(folder, 0o700) == 0)
        let store = try ImagePipeline.CookieStore(file: folder + "/cookies.txt", clock: clock)
        let before = TemporaryDirectory.read(folder + "/cookies.txt")
        #expect(unsafe rename(folder, away) == 0)
        try await set(["a=1; Max-Age=600"], in: store)
        #expect(store.saveError?.code == .cannotWrite)
        #expect(failure { try store.save() }?.code == .cannotWrite)
        #expect(TemporaryDirectory.read(away + "/cookies.txt") == before)
        #expect(TemporaryDirectory.names(away) == ["cookies.txt"])
        #expect(try await sent(store) == "a=1")
        #expect(unsafe rename(away, folder) == 0)
        try store.save()
        #expect(store.saveError == nil)
        #expect(TemporaryDirectory.read(folder + "/cookies.txt") != before)
    }

    @Test("A file is replaced by a new one, never written in place")
    func replaced() async throws {
        let store = try open()
        // The old file has a second name.
        #expect(unsafe link(path, directory.appending("old")) == 0)
        let before = directory.read("old")
        try await set(["a=1; Max-Age=600"], in: store)
        #expect(directory.read("old") == before)
        #expect(lines.count == 1)
    }

    @Test("Changes reach the file a second later, and removeAll at once")
    func delay() async throws {
        let store = try open()
        let stage = try StoreStage { $0.cookies = store }
        stage.serve(Self.url, .status(200, StoreStage.fields([("Set-Cookie", "a=1; Max-Age=600")])))
        _ = try await stage.get(Self.url)
        clock.advance(by: .milliseconds(999))
        #expect(lines.isEmpty)
        clock.advance(by: .milliseconds(1))
        try await eventually("the cookie in the file") { lines.count == 1 }
        store.removeAll()
        try await eventually("no cookie in the file") { lines.isEmpty }
        await stage.end()
    }
}
