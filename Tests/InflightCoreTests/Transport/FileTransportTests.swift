import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FileTransportTests {
    @Test("A file is delivered whole, in order and with its length") func wholeFile() throws {
        let folder = TemporaryDirectory()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let heard = try FileTransport().load(folder.url(writing: bytes, to: "a b%20ä.bin"))
        #expect(
            heard.head
                == ResponseHead(
                    status: 200, version: .none, fields: HTTPFields([("Content-Length", "3000000")])))
        #expect(heard.expectedBytes == 3_000_000)
        #expect(heard.body == bytes)
        #expect(heard.summary == TransportSummary(wireBytes: 3_000_000, bodyBytes: 3_000_000))
    }

    @Test("HEAD of a file delivers no body, and POST is rejected") func methods() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [1, 2, 3], to: "a")
        let head = try FileTransport().load(url) { $0.method = "HEAD" }
        #expect(head.expectedBytes == 3)
        #expect(head.body.isEmpty)
        #expect(head.summary?.bodyBytes == 0)
        #expect(try FileTransport().load(url) { $0.method = "POST" }.error?.code == .invalidRequest)
    }

    @Test("An empty file and one of unknown length are read to the end") func unusualLengths() throws {
        let folder = TemporaryDirectory()
        let empty = try FileTransport().load(folder.url(writing: [], to: "empty"))
        #expect(empty.summary?.bodyBytes == 0)
        let status = try FileTransport().load("file:///proc/self/status")
        #expect(status.expectedBytes == nil)
        #expect(status.text.hasPrefix("Name:"))
    }

    @Test("A missing file, a folder or a pipe cannot be read, and a NUL in a path is invalid")
    func unreadable() throws {
        let folder = TemporaryDirectory()
        unsafe mkfifo(folder.path + "/pipe", 0o600)
        for name in ["missing", "", "pipe"] {
            let heard = try FileTransport().load("file://\(folder.path)/\(name)")
            #expect(heard.error?.code == .cannotRead, "\(name)")
            #expect(heard.head == nil)
        }
        #expect(try FileTransport().load("file:///a%00b").error?.code == .invalidURL)
    }

    @Test("The body limit is inclusive, and a file known to exceed it delivers no head") func bodyLimit() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [UInt8](repeating: 1, count: 100), to: "a")
        #expect(try FileTransport().load(url) { $0.limits.maximumBodyBytes = 100 }.summary?.bodyBytes == 100)
        let refused = try FileTransport().load(url) { $0.limits.maximumBodyBytes = 99 }
        #expect(refused.error?.code == .tooLarge)
        #expect(refused.head == nil)
        let unknown = try FileTransport().load("file:///proc/self/status") { $0.limits.maximumBodyBytes = 10 }
        #expect(unknown.error?.code == .tooLarge)
    }

    @Test("A paused file transfer delivers no bytes until it is resumed, and blocks no other") func pausing() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [UInt8](repeating: 1, count: 300_000), to: "a")
        let recorder = Recorder(onBytes: { $0 == 0 ? .pause : .proceed })
        let transport = FileTransport()
        let transfer = transport.start(try .of(url), receiver: recorder)
        _ = recorder.wait { $0.chunks == 1 }
        // Other transfers complete meanwhile: a paused transfer blocks no thread.
        for _ in 0..<4 { #expect(try transport.load(url).summary?.bodyBytes == 300_000) }
        #expect(recorder.heard.chunks == 1)
        transfer.resume()
        #expect(recorder.waitForEnd().summary?.bodyBytes == 300_000)
        transfer.resume()
        transfer.cancel()
    }

    @Test("A file transfer can be cancelled while paused and from its receiver") func cancellation() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [UInt8](repeating: 1, count: 300_000), to: "a")
        let transport = FileTransport()
        let paused = Recorder(onHead: { _ in .pause })
        let transfer = transport.start(try .of(url), receiver: paused)
        _ = paused.wait { $0.head != nil }
        transfer.cancel()
        #expect(paused.waitForEnd().error?.code == .cancelled)
        #expect(paused.heard.body.isEmpty)
        let inside = Recorder(onBytes: { _ in .cancel })
        _ = transport.start(try .of(url), receiver: inside)
        #expect(inside.waitForEnd().error?.code == .cancelled)
        #expect(inside.heard.chunks == 1)
        let early = Recorder()
        transport.start(try .of(url), receiver: early).cancel()
        #expect(early.waitForEnd().end != nil)
    }

    @Test("Shutdown ends file transfers in flight and rejects new ones") func shutdown() async throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [UInt8](repeating: 1, count: 300_000), to: "a")
        let transport = FileTransport()
        let paused = Recorder(onHead: { _ in .pause })
        _ = transport.start(try .of(url), receiver: paused)
        _ = paused.wait { $0.head != nil }
        await transport.shutdown()
        #expect(paused.heard.error?.code == .shutDown)
        #expect(try transport.load(url).error?.code == .shutDown)
        await transport.shutdown()
    }

    @Test("A file transfer completes after its transport is released") func releasedTransport() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [UInt8](repeating: 1, count: 300_000), to: "a")
        let recorder = Recorder(onHead: { _ in .pause })
        let transfer = FileTransport().start(try .of(url), receiver: recorder)
        _ = recorder.wait { $0.head != nil }
        transfer.resume()
        #expect(recorder.waitForEnd().summary?.bodyBytes == 300_000)
    }

    @Test("The total timeout of a file transfer runs on the given clock") func clock() throws {
        let (folder, clock) = (TemporaryDirectory(), VirtualClock())
        let url = folder.url(writing: [1], to: "a")
        let transport = FileTransport(clock: clock)
        var request = try TransportRequest.of(url)
        request.limits.totalTimeout = .seconds(60)
        for passed in [59, 60] {
            let recorder = Recorder(onHead: { _ in .pause })
            let transfer = transport.start(request, receiver: recorder)
            _ = recorder.wait { $0.head != nil }
            clock.advance(by: .seconds(passed))
            transfer.resume()
            #expect(recorder.waitForEnd().error?.code == (passed == 59 ? nil : .timedOut))
        }
    }

    @Test("A file transfer fails when its total timeout has passed") func totalTimeout() throws {
        let folder = TemporaryDirectory()
        let url = folder.url(writing: [1], to: "a")
        #expect(try FileTransport().load(url) { $0.limits.totalTimeout = .zero }.error?.code == .timedOut)
    }
}

extension TemporaryDirectory {
    /// - Returns: the file's URL.
    fileprivate func url(writing bytes: [UInt8], to name: String) -> String {
        write(name, bytes)
        return "file://\(path)/" + name.replacing("%", with: "%25").replacing(" ", with: "%20")
    }
}
