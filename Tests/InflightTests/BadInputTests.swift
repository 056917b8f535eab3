import Inflight
import InflightTestSupport
import Testing

/// Untrusted input, end to end: the error code that the caller gets, and that no message leaks a secret.
@Suite("Invalid input over the standard pipeline", .timeLimit(.minutes(10)))
struct BadInputTests {
    private static let password = "hunter2"

    private func pipeline(curl: CurlTransport.Configuration = .init()) throws -> ImagePipeline {
        var curl = curl
        curl.usesEnvironmentProxies = false
        return try ImagePipeline(configuration: .init(curl: curl))
    }

    /// Returns the error of a load, after checking its texts for secrets and control characters.
    private func failure(
        _ pipeline: ImagePipeline, _ url: String, change: @Sendable (inout ImageRequest) -> Void = { _ in }
    ) async throws -> LoadError {
        var request = ImageRequest(url)
        change(&request)
        do throws(LoadError) {
            _ = try await pipeline.image(for: request)
        } catch {
            for text in [error.message, error.url ?? "", error.description] {
                #expect(!text.contains(Self.password), "\(text)")
                #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text)")
            }
            #expect(!error.message.isEmpty && !error.message.contains("--"), "\(error)")
            return error
        }
        throw Unexpected()
    }

    private struct Unexpected: Error {}

    private func withPassword(_ url: String) -> String {
        url.replacing("://", with: "://me:\(Self.password)@")
    }

    // MARK: URLs and connections

    @Test(
        "An invalid URL or unsupported scheme fails with its error code",
        arguments: [
            ("photo.jpg", LoadError.Code.invalidURL), ("", .invalidURL), ("http://", .invalidURL),
            ("http://me:hunter2@/a", .invalidURL), ("me:hunter2@a.example/b", .invalidURL),
            ("http://me:hunter2@a.example:0/", .invalidURL), ("http://a.example/\u{1B}[2J", .invalidURL),
            ("http://me:hunter2@a b.example/\n", .invalidURL),
            ("http://me:hunter2@a.example\\@b.example/", .invalidURL),
            ("ftp://me:hunter2@a.example/b", .unsupportedScheme), ("gopher://a.example/", .unsupportedScheme),
            ("javascript://x/%0Aalert", .unsupportedScheme), ("javascript:alert('x')", .unsupportedScheme),
            ("mailto:a@b", .unsupportedScheme), ("memory:cat", .unsupportedScheme),
            ("asset:///cat.jpg", .unsupportedScheme), ("localhost:8080/a.jpg", .invalidURL),
        ])
    func urls(url: String, code: LoadError.Code) async throws {
        let error = try await failure(try pipeline(), url)
        #expect(error.code == code)
        #expect(error.stage == .request)
    }

    @Test("An unresolvable host and a refused connection fail with cannotConnect")
    func unreachable() async throws {
        let server = try LoopbackServer()
        let port = server.port
        server.stop()
        var curl = CurlTransport.Configuration()
        curl.dnsServers = ["127.0.0.1:\(port)"]
        let pipeline = try pipeline(curl: curl)
        #expect(try await failure(pipeline, "http://me:hunter2@nothing.invalid/").code == .cannotConnect)
        #expect(try await failure(pipeline, "http://me:hunter2@127.0.0.1:\(port)/").code == .cannotConnect)
    }

    @Test("Untrusted certificates are refused", arguments: [LoopbackServer.Certificate.valid, .expired, .wrongHost])
    func untrusted(certificate: LoopbackServer.Certificate) async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = .init(authority: try LoopbackServer.CertificateAuthority(), certificate: certificate)
        let server = try LoopbackServer(configuration)
        defer { server.stop() }
        let error = try await failure(try pipeline(), withPassword(server.url("/")))
        #expect(error.code == .untrusted)
        #expect(server.requestCount == 0)
    }

    @Test("Stall, total, minimum-rate and TLS handshake timeouts fail with timedOut")
    func timeouts() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/silent", .silent)
        server.serve("/half", .ok(Bytes("0123456789")).held("never", after: 5))
        let pipeline = try pipeline()
        let stalled = try await failure(pipeline, withPassword(server.url("/silent"))) {
            $0.limits.stallTimeout = .milliseconds(100)
        }
        #expect(stalled.code == .timedOut)
        let long = try await failure(pipeline, withPassword(server.url("/half"))) {
            $0.limits.totalTimeout = .milliseconds(150)
        }
        #expect(long.code == .timedOut)
        let slow = try await failure(pipeline, withPassword(server.url("/half"))) {
            $0.limits.stallTimeout = nil
            $0.limits.minimumRatePeriod = .milliseconds(120)
        }
        #expect(slow.code == .timedOut)
        #expect(slow.message.contains("less than 1024 bytes per second over 120 ms"))
        var configuration = LoopbackServer.Configuration()
        configuration.greeting = .silence
        let mute = try LoopbackServer(configuration)
        defer { mute.stop() }
        let handshake = try await failure(pipeline, "https://me:hunter2@127.0.0.1:\(mute.port)/") {
            $0.limits.connectTimeout = .milliseconds(100)
        }
        #expect(handshake.code == .timedOut)
    }

    @Test("A missing file and a directory cannot be read", arguments: ["/nothing/here.png", "/"])
    func files(path: String) async throws {
        #expect(try await failure(try pipeline(), "file://\(path)").code == .cannotRead)
    }

    // MARK: Responses

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        /// Created on demand, because the leak sanitizer cannot follow values that a constant of this suite would
        /// retain forever.
        var response: @Sendable () -> LoopbackServer.Response
        var code: LoadError.Code
        var status: Int?
        var mentions: String
        var change: @Sendable (inout ImageRequest) -> Void

        init(
            name: String, response: @escaping @Sendable @autoclosure () -> LoopbackServer.Response,
            code: LoadError.Code, status: Int? = nil, mentions: String = "",
            change: @escaping @Sendable (inout ImageRequest) -> Void = { _ in }
        ) {
            self.name = name
            self.response = response
            self.code = code
            self.status = status
            self.mentions = mentions
            self.change = change
        }

        var testDescription: String { name }
    }

    private static let answers: [Row] = [
        Row(name: "closed before any answer", response: .closing, code: .cannotConnect),
        Row(name: "reset before any answer", response: .resetting, code: .cannotConnect),
        Row(name: "no HTTP", response: .raw("SSH-2.0-OpenSSH_9.2\r\n"), code: .badResponse),
        Row(
            name: "a head that is too long",
            response: (0..<300).reduce(.ok(Bytes("x"))) { response, index in
                response.field("X-Filler-\(index)", String(repeating: "x", count: 1000))
            }, code: .badResponse),
        Row(name: "404", response: .status(404), code: .badStatus, status: 404),
        Row(name: "500", response: .status(500), code: .badStatus, status: 500),
        Row(name: "204", response: .status(204), code: .badStatus, status: 204),
        Row(name: "206 that nobody asked for", response: .status(206, text: "x"), code: .badStatus, status: 206),
        Row(name: "304 that nobody asked for", response: .status(304), code: .badStatus, status: 304),
        Row(
            name: "a redirect to a file", response: .redirect(to: "file:///etc/passwd"), code: .badRedirect, status: 302
        ),
        Row(name: "a redirect to data", response: .redirect(to: "data:image/png,x"), code: .badRedirect, status: 302),
        Row(name: "a redirect without a place", response: .status(301), code: .badRedirect, status: 301),
        Row(name: "a redirect to no URL", response: .redirect(to: "http://:@:"), code: .badRedirect, status: 302),
        Row(name: "redirects without end", response: .redirect(to: "/row"), code: .badRedirect, status: 302),
        Row(
            name: "shorter than announced", response: .ok(Bytes("12345")).claiming(contentLength: 10),
            code: .truncated),
        Row(name: "reset half way", response: .ok(Bytes("1234567890")).reset(after: 5), code: .truncated),
        Row(
            name: "chunks without an end", response: .ok(Bytes("1234567890")).chunked([2]).truncated(after: 6),
            code: .truncated),
        Row(
            name: "longer than the limit, announced", response: .ok(Bytes("12345678901")), code: .tooLarge,
            change: { $0.limits.maximumBodyBytes = 10 }),
        Row(
            name: "longer than the limit, in chunks", response: .ok(Bytes("12345678901")).chunked([4]),
            code: .tooLarge, change: { $0.limits.maximumBodyBytes = 10 }),
        Row(
            name: "without end", response: .endless(), code: .tooLarge,
            change: { $0.limits.maximumBodyBytes = 100_000 }),
        Row(
            name: "longer than the limit after decompression",
            response: .ok(Bytes(Gzip.zeros(runs: 400))).field("Content-Encoding", "gzip"), code: .tooLarge,
            change: { $0.limits.maximumBodyBytes = 100_000 }),
        Row(
            name: "a content coding that does not decode",
            response: .ok(Bytes("hello")).field("Content-Encoding", "gzip"), code: .badResponse),
        Row(
            name: "a content coding that ends early, though as long as announced",
            response: .ok(Bytes(Array(Gzip.zeros(runs: 400).dropLast(9)))).field("Content-Encoding", "gzip"),
            code: .truncated),
        Row(
            name: "a content coding that nobody knows",
            response: .ok(Bytes("hello")).field("Content-Encoding", "rot13"), code: .notAnImage, mentions: "rot13"),
        Row(
            name: "a hundred content codings",
            response: .ok(Bytes(Gzip.zeros(runs: 1)))
                .field("Content-Encoding", Array(repeating: "gzip", count: 100).joined(separator: ",")),
            code: .badResponse, status: 200, mentions: "more than 4 nested content codings"),
        Row(name: "nothing", response: .ok(.empty, type: "image/png"), code: .notAnImage, mentions: "image/png"),
        Row(
            name: "HTML", response: .ok(Bytes("<!DOCTYPE html><p>No."), type: "text/html; charset=utf-8"),
            code: .notAnImage, mentions: "text/html; charset=utf-8"),
        Row(
            name: "a type that would write on the terminal",
            response: .ok(Bytes("x"), type: "text/\u{9B}2Jplain"), code: .notAnImage, mentions: "text/"),
    ]

    @Test("A response without a usable image fails with its error code, status and URL", arguments: answers)
    func answer(row: Row) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/row", row.response())
        let error = try await failure(try pipeline(), withPassword(server.url("/row")), change: row.change)
        #expect(error.code == row.code, "\(error)")
        #expect(error.status == row.status)
        #expect(error.message.contains(row.mentions), "\(error)")
        #expect(error.url == server.url("/row"))
    }

    // MARK: Images

    @Test("Truncated, corrupt, oversized and unsupported images fail while decoding, with their code")
    func pictures() async throws {
        let jpeg = try Pictures.jpeg().array
        let png = try Pictures.png().array
        var broken = png
        for index in (png.count / 2)..<(png.count / 2 + 8) { broken[index] ^= 0xFF }
        // IHDR: 100,000 × 100,000 pixels.
        let header: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
            + Array("IHDR".utf8) + [0, 1, 0x86, 0xA0, 0, 1, 0x86, 0xA0, 8, 2, 0, 0, 0]
        let huge = header + Self.checksum(header[12...]) + png[33...]
        let avif: [UInt8] = [0, 0, 0, 0x18] + Array("ftypavif".utf8) + [0, 0, 0, 0] + Array("avifmif1".utf8)
        let psd = Array("8BPS".utf8) + [0, 1] + [UInt8](repeating: 0, count: 20)
        let rows: [(String, [UInt8], LoadError.Code)] = [
            ("/cut.jpg", Array(jpeg.prefix(jpeg.count / 2)), .damaged),
            ("/cut.png", Array(png.prefix(png.count / 2)), .damaged),
            ("/header.jpg", Array(jpeg.prefix(20)), .damaged),
            ("/broken.png", broken, .damaged),
            ("/huge.png", huge, .tooManyPixels),
            ("/header.avif", avif, .damaged),
            ("/layers.psd", psd, .unsupportedFormat),
        ]
        let server = try LoopbackServer()
        defer { server.stop() }
        let pipeline = try pipeline()
        for (path, bytes, code) in rows {
            server.serve(path, .ok(Bytes(bytes), type: "image/jpeg"))
            let error = try await failure(pipeline, withPassword(server.url(path)))
            #expect(error.code == code, "\(path): \(error)")
            #expect(error.stage == .decode)
            // Only a truncated image may be whole the next time.
            #expect(error.message.contains("Fetch it again") == error.message.contains("truncated"), "\(error)")
        }
    }

    /// CRC-32 as PNG defines it.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ~sum >> $0) }
    }

    @Test("A data URL without an image fails with notAnImage")
    func dataURLs() async throws {
        let pipeline = try pipeline()
        for (url, code) in [
            ("data:,hello", LoadError.Code.notAnImage), ("data:text/html,%3Chtml%3E", .notAnImage),
            ("data:,", .notAnImage),
        ] {
            let error = try await failure(pipeline, url)
            #expect(error.code == code, "\(url): \(error)")
        }
    }

    @Test("Failing loads do not affect concurrent loads")
    func others() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/good", .ok(try Pictures.png(), type: "image/png"))
        for (index, row) in Self.answers.enumerated() { server.serve("/bad\(index)", row.response()) }
        let pipeline = try pipeline()
        let good = server.url("/good")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, row) in Self.answers.enumerated() {
                let bad = server.url("/bad\(index)")
                group.addTask { _ = try await failure(pipeline, bad, change: row.change) }
                group.addTask {
                    var request = ImageRequest(good)
                    request.fields.append("X-Index", "\(index)")
                    let image = try await pipeline.image(for: request)
                    #expect(image.width == 64)
                }
            }
            try await group.waitForAll()
        }
        await pipeline.shutdown(.finish)
        #expect(pipeline.statistics.jobsInFlight == 0)
    }
}
