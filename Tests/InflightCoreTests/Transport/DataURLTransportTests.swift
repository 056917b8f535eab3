import InflightCore
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct DataURLTransportTests {
    @Test(
        "A data URL is decoded into a body and a media type",
        arguments: [
            ("data:,hello%20world", "hello world", "text/plain;charset=US-ASCII"),
            ("data:text/html;charset=utf-8,<b>ä%", "<b>ä%", "text/html;charset=utf-8"),
            ("data:;base64,aGVsbG8=", "hello", "text/plain;charset=US-ASCII"),
            ("data:image/png;base64,aGVsbG8", "hello", "image/png"),
            ("data:image/png;BASE64,aGVs%62G8%3D", "hello", "image/png"),
            ("data:image/svg+xml;a=b; base64,Pz8_Pj4-", "???>>>", "image/svg+xml;a=b"),
            ("data:;base64,aGVs bG8=", "hello", "text/plain;charset=US-ASCII"),
            ("data:;base64,aGVs\r\nbG8=\n", "hello", "text/plain;charset=US-ASCII"),
            ("data:;base64,aGVs%0D%0AbG8=%0a", "hello", "text/plain;charset=US-ASCII"),
            ("data:a%20b,x", "x", "a b"),
            ("data:a%0Ab,x", "x", "text/plain;charset=US-ASCII"),
            ("data:,", "", "text/plain;charset=US-ASCII"),
        ])
    func decoding(url: String, body: String, type: String) throws {
        let heard = try DataURLTransport().load(url)
        #expect(heard.text == body)
        #expect(heard.head?.status == 200)
        #expect(heard.head?.version == ResponseHead.Version.none)
        #expect(heard.head?.fields["Content-Type"] == type)
        #expect(heard.expectedBytes == Int64(body.utf8.count))
        #expect(heard.summary?.bodyBytes == Int64(body.utf8.count))
    }

    @Test(
        "A malformed data URL fails as an invalid URL",
        arguments: [
            "data:nothing", "data:;base64,a", "data:;base64,aGVsbG8==", "data:;base64,aG=VsbG8", "data:;base64,a*b=",
        ])
    func malformed(url: String) throws {
        let heard = try DataURLTransport().load(url)
        #expect(heard.error?.code == .invalidURL)
        #expect(heard.head == nil)
    }

    @Test("The body limit of a data URL is inclusive, and is checked before decoding") func bodyLimit() throws {
        let transport = DataURLTransport()
        let base64 = "data:;base64," + String(repeating: "QUJD", count: 1000)
        let plain = "data:," + String(repeating: "%41", count: 1000)
        #expect(try transport.load(base64) { $0.limits.maximumBodyBytes = 3000 }.summary?.bodyBytes == 3000)
        #expect(try transport.load(base64) { $0.limits.maximumBodyBytes = 2999 }.error?.code == .tooLarge)
        #expect(try transport.load(plain) { $0.limits.maximumBodyBytes = 1000 }.summary?.bodyBytes == 1000)
        let refused = try transport.load(plain) { $0.limits.maximumBodyBytes = 999 }
        #expect(refused.error?.code == .tooLarge)
        #expect((refused.error?.url?.utf8.count ?? 1000) < 300)
        let malformed = "data:;base64," + String(repeating: "*", count: 4000)
        #expect(try transport.load(malformed) { $0.limits.maximumBodyBytes = 2999 }.error?.code == .tooLarge)
        #expect(try transport.load(malformed) { $0.limits.maximumBodyBytes = 3000 }.error?.code == .invalidURL)
    }

    @Test("A long data URL is delivered in chunks, between which it can be paused, resumed and cancelled")
    func pausing() throws {
        let url = "data:," + String(repeating: "x", count: 200_000)
        let transport = DataURLTransport()
        let recorder = Recorder(onBytes: { $0 == 0 ? .pause : .proceed })
        let transfer = transport.start(try .of(url), receiver: recorder)
        _ = recorder.wait { $0.chunks == 1 }
        // The transport has one thread. When it has served another URL, the paused transfer's turn has ended.
        #expect(try transport.load("data:,y").text == "y")
        #expect(recorder.heard.chunks == 1 && recorder.heard.body.count < 200_000)
        transfer.resume()
        #expect(recorder.waitForEnd().body.count == 200_000)
        let stopped = Recorder(onBytes: { _ in .cancel })
        _ = transport.start(try .of(url), receiver: stopped)
        #expect(stopped.waitForEnd().error?.code == .cancelled)
        #expect(stopped.heard.chunks == 1)
    }

    @Test("A data URL transport serves nothing after shutdown") func shutdown() async throws {
        let transport = DataURLTransport()
        #expect(try transport.load("data:,a").text == "a")
        await transport.shutdown()
        #expect(try transport.load("data:,a").error?.code == .shutDown)
    }
}
