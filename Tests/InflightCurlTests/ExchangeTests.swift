import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ExchangeTests {
    @Test func `A GET brings the head, the body and one end`() throws {
        let server = RawServer { connection in
            while connection.readHead() != nil {
                connection.reply(Array("hello".utf8), headers: "X-One: 1\r\nx-one:  2 \r\n")
            }
        }
        let transport = try CurlTransport()
        let heard = try transport.load(server.url + "/a")
        #expect(heard.head?.status == 200)
        #expect(heard.head?.version == .http1_1)
        #expect(heard.head?.fields.values("X-One") == ["1", "2"])
        #expect(heard.expectedBytes == 5)
        #expect(heard.text == "hello")
        #expect(heard.summary == TransportSummary(wireBytes: 5, bodyBytes: 5, reusedConnection: false))
        #expect(try transport.load(server.url + "/b").summary?.reusedConnection == true)
        #expect(server.connections == 1)
        #expect(server.requests == 2)
    }

    @Test func `Cancelling closes the connection, and the end says so`() throws {
        let server = RawServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            connection.waitForClose()
        }
        let transport = try CurlTransport()
        let recorder = Recorder()
        let transfer = transport.start(try .of(server.url + "/"), receiver: recorder)
        _ = recorder.wait { $0.body.count == 4 }
        transfer.cancel()
        transfer.cancel()
        #expect(recorder.waitForEnd().error?.code == .cancelled)
        transfer.cancel()
    }
}
