// Peer: Foundation's `URLCache`, on disk only, stores and reads bodies one after the other, because its calls block.
//
//     URLCacheSpeed write FOLDER COUNT BYTES
//     URLCacheSpeed read FOLDER COUNT BYTES      write the bodies, then read them in random order
//
// `URLCache` computes no checksum.

import BenchmarkSupport
import Foundation
import FoundationNetworking

let options = Options(usage: "URLCacheSpeed write|read FOLDER COUNT BYTES")
let what = options.value(0)
let count = options.number(2)
let bytes = options.number(3)

let cache = URLCache(
    memoryCapacity: 0, diskCapacity: count * (bytes + 8192) * 2 + (16 << 20), diskPath: options.value(1) + "/cache")
let body = Data((0..<bytes).map { _ in UInt8.random(in: 0...255) })

func request(_ number: Int) -> URLRequest {
    guard let url = URL(string: "http://bench/\(number)") else { preconditionFailure("invalid URL") }
    return URLRequest(url: url)
}

func keep(_ number: Int) {
    let request = request(number)
    guard let url = request.url,
        let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: "HTTP/1.1",
            headerFields: [
                "Content-Type": "image/jpeg", "Cache-Control": "max-age=86400", "ETag": "\"0123456789abcdef\"",
                "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
            ])
    else { preconditionFailure("invalid response") }
    cache.storeCachedResponse(CachedURLResponse(response: response, data: body), for: request)
}

/// Reads random bodies.
///
/// - Returns: the number of misses.
func read(_ times: Int) -> Int {
    var missed = 0
    for _ in 0..<times where cache.cachedResponse(for: request(Int.random(in: 0..<count)))?.data.count != bytes {
        missed += 1
    }
    return missed
}

var sample = Sample()
var start = Usage.now()
for number in 0..<count { keep(number) }
if what == "read" {
    _ = read(count / 4)
    start = Usage.now()
    sample.add("missed", read(count))
}
let used = Usage.now() - start
sample.add("each_us", used.wall / Double(count) * 1e6)
sample.add("cpu_us", used.cpu / Double(count) * 1e6)
sample.printAndExit()
