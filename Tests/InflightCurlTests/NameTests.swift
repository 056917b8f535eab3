import Glibc
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct NameTests {
    private func transport(_ server: FakeNameServer) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.dnsServers = [server.address]
        configuration.usesEnvironmentProxies = false
        return try CurlTransport(configuration: configuration)
    }

    @Test("Transfers to the same host share one DNS lookup, which is cached") func sharedLookup() throws {
        let names = FakeNameServer(knows: ["one.test": [127, 0, 0, 1], "xn--bcher-kva.test": [127, 0, 0, 1]])
        let server = RawServer { while $0.readHead() != nil { $0.reply([1]) } }
        let transport = try transport(names)
        let recorders = try (0..<20).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of("http://one.test:\(server.port)/"), receiver: recorder)
            return recorder
        }
        for recorder in recorders { #expect(recorder.waitForEnd().summary != nil) }
        #expect(try transport.load("http://one.test:\(server.port)/").summary != nil)
        #expect(names.questions.sorted() == ["one.test", "one.test"])
        // With non-ASCII characters, and with a trailing dot.
        #expect(try transport.load("http://Bücher.test:\(server.port)/").summary != nil)
        #expect(names.questions.contains("xn--bcher-kva.test"))
        #expect(try transport.load("http://one.test.:\(server.port)/").summary != nil)
    }

    @Test("Expired addresses are looked up again") func expiredAddresses() throws {
        let names = FakeNameServer(knows: ["short.test": [127, 0, 0, 1]], secondsToLive: 0)
        let server = RawServer { while $0.readHead() != nil { $0.reply([1]) } }
        let transport = try transport(names)
        // The shortest lifetime is one second; requests continue until it has passed.
        while names.questions.count < 4 {
            #expect(try transport.load("http://short.test:\(server.port)/").summary != nil)
        }
    }

    @Test("Connecting to a host name that does not resolve fails with an error that names it")
    func unknownName() throws {
        let names = FakeNameServer()
        let error = try transport(names).load("http://missing.test/").error
        #expect(error?.code == .cannotConnect)
        #expect(error?.message.contains("missing.test") == true)
        // A name that does not exist is told from servers that do not answer.
        #expect(error?.underlying is HostNotFound)
        let invalid = try transport(names).load("http://\u{338}.test/").error
        #expect(invalid?.code == .invalidURL || invalid?.code == .cannotConnect)
    }

    @Test("Loopback names and IP addresses need no DNS lookup") func localNames() throws {
        let names = FakeNameServer()
        let server = RawServer { while $0.readHead() != nil { $0.reply([1]) } }
        let transport = try transport(names)
        for host in ["localhost", "a.localhost", "127.0.0.1", "127.1", "localhost."] {
            #expect(try transport.load("http://\(host):\(server.port)/").summary != nil, "\(host)")
        }
        #expect(names.questions == [])
    }

    @Test("A hundred hanging lookups block no transfer, start few threads and can be cancelled")
    func hangingLookups() throws {
        let names = FakeNameServer()
        let server = RawServer { while $0.readHead() != nil { $0.reply([1]) } }
        let transport = try transport(names)
        var hanging: [(Recorder, any Transfer)] = []
        let before = Self.transportThreads()
        for number in 0..<100 {
            let recorder = Recorder()
            let transfer = transport.start(
                try .of("http://hang\(number).test/") { $0.limits.connectTimeout = .seconds(50) }, receiver: recorder)
            hanging.append((recorder, transfer))
        }
        for _ in 0..<20 { #expect(try transport.load("http://localhost:\(server.port)/").summary != nil) }
        #expect(Self.transportThreads() <= before + 8)
        for (recorder, transfer) in hanging {
            #expect(recorder.heard.end == nil)
            transfer.cancel()
        }
        for (recorder, _) in hanging { #expect(recorder.waitForEnd().error?.code == .cancelled) }
    }

    @Test("A hanging lookup counts towards the connect timeout") func lookupTimeout() throws {
        let names = FakeNameServer()
        let error = try transport(names).load("http://hang.test/") { $0.limits.connectTimeout = .milliseconds(50) }
            .error
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("name") == true)
    }

    @Test("Shutdown does not wait for a hanging lookup") func shutdown() async throws {
        let names = FakeNameServer()
        let transport = try transport(names)
        let recorder = Recorder()
        _ = transport.start(try .of("http://hang.test/"), receiver: recorder)
        await transport.shutdown()
        #expect(recorder.heard.error?.code == .shutDown)
    }

    /// Counts the threads of libcurl, c-ares and transports: all of this process except those of test servers.
    private static func transportThreads() -> Int {
        TemporaryDirectory.names("/proc/self/task").count { id in
            guard let bytes = TemporaryDirectory.read("/proc/self/task/\(id)/comm") else { return false }
            let name = String(decoding: bytes, as: UTF8.self)
            return !["raw-server", "name-server", "loopback"].contains { name.hasPrefix($0) }
        }
    }
}
