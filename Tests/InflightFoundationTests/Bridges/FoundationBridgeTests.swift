import Foundation
import FoundationNetworking
import InflightCore
import InflightFoundation
import Testing

@Suite("Bridges from Foundation", .timeLimit(.minutes(10)))
struct FoundationBridgeTests {
    @Test("A request of Foundation keeps its URL, method, fields, body and timeout")
    func request() throws {
        var source = URLRequest(url: try #require(URL(string: "https://a.example/1?x=y")))
        source.httpMethod = "POST"
        source.setValue("image/png", forHTTPHeaderField: "Accept")
        source.setValue("Bearer 7", forHTTPHeaderField: "Authorization")
        source.httpBody = Data("body".utf8)
        source.timeoutInterval = 2.5
        let request = ImageRequest(source, resize: Resize(width: 10), priority: .high)
        #expect(request.url == "https://a.example/1?x=y")
        #expect(request.method == "POST")
        #expect(request.fields["accept"] == "image/png" && request.fields["authorization"] == "Bearer 7")
        #expect(request.body == Bytes("body"))
        #expect(request.limits.stallTimeout == .milliseconds(2500))
        #expect(request.resize == Resize(width: 10) && request.priority == .high)
    }

    @Test("A request of Foundation takes processors, with a label too, and is what a call loads")
    func processors() throws {
        let source = URLRequest(url: try #require(URL(string: "https://a.example/1")), timeoutInterval: 2)
        let request = ImageRequest(urlRequest: source, resize: Resize(width: 10), processors: [.grey], priority: .low)
        #expect(request.processors == [.grey] && request.resize == Resize(width: 10) && request.priority == .low)
        #expect(request == ImageRequest(source, resize: Resize(width: 10), processors: [.grey], priority: .low))
        #expect(source.imageRequest.limits.stallTimeout == .seconds(2))
    }

    @Test("A plain request of Foundation has the defaults of this library")
    func plain() throws {
        let request = ImageRequest(URLRequest(url: try #require(URL(string: "https://a.example/1"))))
        #expect(request.method == "GET" && request.fields.isEmpty && request.body == nil)
        #expect(request.limits == ImageRequest.Limits())
        #expect(request.cachePolicy == .obey)
    }

    @Test(
        "Cache policies of Foundation have equivalents",
        arguments: [
            (URLRequest.CachePolicy.useProtocolCachePolicy, ImageRequest.CachePolicy.obey),
            (.reloadRevalidatingCacheData, .refresh), (.reloadIgnoringLocalCacheData, .reload),
            (.reloadIgnoringLocalAndRemoteCacheData, .reload), (.returnCacheDataElseLoad, .preferCached),
            (.returnCacheDataDontLoad, .onlyCached),
        ])
    func cachePolicy(policy: URLRequest.CachePolicy, expected: ImageRequest.CachePolicy) throws {
        let url = try #require(URL(string: "https://a.example/1"))
        #expect(ImageRequest(URLRequest(url: url, cachePolicy: policy)).cachePolicy == expected)
    }

    @Test("An error's localized description is its message")
    func localized() {
        let error: any Error = LoadError(.timedOut, stage: .fetch, message: "The request timed out after 30 s.")
        #expect(error.localizedDescription == "The request timed out after 30 s.")
    }

    @Test("Bytes are made of data")
    func data() {
        #expect(Bytes(Data([1, 2, 3])).array == [1, 2, 3])
        #expect(Bytes(Data()).isEmpty)
    }
}
