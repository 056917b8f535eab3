// Peer: the loads of HTTPSpeed with `URLSession`.
//
//     URLSessionSpeed BASE COUNT [--at-once N]
//
// Starts N loads, and another one whenever one completes. Starting all at once would be even slower.

import BenchmarkSupport
import Foundation
import FoundationNetworking

let options = Options(usage: "URLSessionSpeed BASE COUNT [--at-once N]")
let base = options.value(0)
let count = options.number(1)
let atOnce = options.number("--at-once", default: 64)

// Unchecked: touched only on the serial delegate queue, and after `wait()`.
final class Loader: @unchecked Sendable {
    private(set) var bodies: [Data] = []
    private(set) var failures = 0
    private var next = 0
    private let session: URLSession
    private let done = DispatchSemaphore(value: 0)

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = atOnce
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
        bodies.reserveCapacity(count)
    }

    func run() {
        session.delegateQueue.addOperation { for _ in 0..<min(atOnce, count) { self.startNext() } }
        done.wait()
    }

    private func startNext() {
        guard next < count, let url = URL(string: base + String(format: "/%05d.jpg", next)) else { return }
        next += 1
        session.dataTask(with: url) { data, response, _ in
            if let data, (response as? HTTPURLResponse)?.statusCode == 200 {
                self.bodies.append(data)
            } else {
                self.failures += 1
            }
            if self.bodies.count + self.failures == count { self.done.signal() }
            self.startNext()
        }.resume()
    }
}

let loader = Loader()
let start = Usage.now()
loader.run()
let used = Usage.now() - start

if loader.failures > 0 { print("\(loader.failures) failed") }
var sample = Sample()
sample.add("loads", count)
sample.add("bytes", loader.bodies.reduce(0) { $0 + $1.count })
sample.add("seconds", used.wall)
sample.add("cpu", used.cpu)
sample.printAndExit(failed: loader.failures > 0)
