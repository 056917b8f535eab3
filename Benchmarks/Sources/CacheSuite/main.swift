// Sends the requests of the public HTTP caching suite through a pipeline with a disk cache: see cache-suite.mjs.
//
//     CacheSuite FOLDER       a line of JSON on standard input per request, one on standard output per response

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency

struct SuiteRequest: Decodable {
    let id: Int
    let url: String
    let method: String
    /// Pairs of name and value; a value's characters are its bytes, as in the suite.
    let fields: [[String]]
    let body: String?
    let followsRedirects: Bool
    let refreshes: Bool
}

struct SuiteResponse: Encodable {
    struct Head: Encodable {
        let status: Int
        let fields: [[String]]

        init(_ head: ResponseHead) {
            status = head.status
            fields = (0..<head.fields.count).map { index in
                [head.fields.rawName(index), head.fields.rawValue(index)].map { bytes in
                    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
                }
            }
        }
    }

    let id: Int
    var head: Head?
    var interimHeads: [Head] = []
    var body = ""
    var error: String?
}

let options = Options(usage: "CacheSuite FOLDER")
var configuration = ImagePipeline.Configuration(cache: .init(folder: options.value(0)))
// The suite counts each request that reaches its server, and closes connections on purpose.
configuration.retry = nil
configuration.circuitBreaker = nil
configuration.maximumConcurrentFetchesPerOrigin = configuration.maximumConcurrentFetches
let pipeline = try ImagePipeline(configuration: configuration)
let output = Guarded(FileHandle.standardOutput)

func response(to line: SuiteRequest) async -> SuiteResponse {
    var request = ImageRequest(line.url)
    request.expectsImage = false
    request.method = line.method
    request.followsRedirects = line.followsRedirects
    if line.refreshes { request.cachePolicy = .refresh }
    for pair in line.fields {
        let value = pair[1].unicodeScalars.map { UInt8(clamping: $0.value) }
        request.fields.append(name: Array(pair[0].utf8), value: value)
    }
    request.body = line.body.map { Bytes($0) }
    var response = SuiteResponse(id: line.id)
    do throws(LoadError) {
        let loaded = try await pipeline.response(for: request)
        response.head = .init(loaded.head)
        response.interimHeads = loaded.interimHeads.map { .init($0) }
        response.body = loaded.body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    } catch {
        response.error = "\(error.code): \(error.message)"
    }
    return response
}

await withDiscardingTaskGroup { requests in
    while let line = readLine() {
        guard let request = try? JSONDecoder().decode(SuiteRequest.self, from: Data(line.utf8)) else {
            fatalError("not a request: \(line)")
        }
        requests.addTask {
            guard let encoded = try? JSONEncoder().encode(await response(to: request)) else { return }
            output.withLock { $0.write(encoded + Data("\n".utf8)) }
        }
    }
}
