import Foundation
import Inflight
import InflightTestSupport
import Testing

/// `pipeline.download`: what is written, and when.
@Suite("Downloads to files", .timeLimit(.minutes(10)))
struct DownloadTests {
    @Test("A download sends the validator of the file that is there, and writes only what has changed")
    func downloadedIfChanged() async throws {
        let (folder, transport) = (TemporaryDirectory(), ScriptedTransport(.automatic))
        let file = URL(fileURLWithPath: folder.appending("a.txt"))
        transport.serveOthers { request in
            let isTagged = request.url.path == "/tagged"
            let field = isTagged ? ("ETag", "\"1\"") : ("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")
            let isKnown = request.fields[isTagged ? "if-none-match" : "if-modified-since"] == field.1
            return isKnown ? .status(304, HTTPFields([field])) : .ok(Bytes("body"), fields: HTTPFields([field]))
        }
        let pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(transport)], codecs: Pictures.codecs))
        for url in ["http://a.example/tagged", "http://a.example/dated"] {
            let first = try #require(try await pipeline.download(url, to: file))
            try Data("kept".utf8).write(to: file)
            #expect(try await pipeline.download(url, to: file, ifChangedSince: first.head) == nil)
            #expect(try String(contentsOf: file, encoding: .utf8) == "kept")
            // Without the file, the body is needed whatever the head.
            try FileManager.default.removeItem(at: file)
            #expect(try await pipeline.download(url, to: file, ifChangedSince: first.head) != nil)
            #expect(try String(contentsOf: file, encoding: .utf8) == "body")
        }
        await pipeline.shutdown(.finish)
    }

    @Test("A download that requires an image refuses a page and half an image, and leaves the file unchanged")
    func downloadedImage() async throws {
        let (folder, transport) = (TemporaryDirectory(), ScriptedTransport(.automatic))
        let file = URL(fileURLWithPath: folder.appending("a.png"))
        let image = try Pictures.png()
        transport.serve("http://a.example/page", .ok(Bytes("<html>")))
        transport.serve("http://a.example/half", .ok(image.part(0..<image.count / 2)))
        transport.serve("http://a.example/image", .ok(image))
        let pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(transport)], codecs: Pictures.codecs))
        try await pipeline.download("http://a.example/image", to: file, requiresImage: true)
        for (name, code) in [("page", LoadError.Code.notAnImage), ("half", .damaged)] {
            let url = "http://a.example/\(name)"
            let error = await #expect(throws: LoadError.self) {
                try await pipeline.download(url, to: file, requiresImage: true)
            }
            #expect(error?.code == code)
            #expect(error?.url == url)
            #expect(try Data(contentsOf: file) == Data(image))
        }
        await pipeline.shutdown(.finish)
    }
}
