// A custom transport for `asset:` URLs, which name files of the program's own archive. It calls the receiver on its
// serial queue, never inside `start` or `cancel`, pauses on request, and ends every exchange exactly once.

import Dispatch
import Foundation
import Inflight
import InflightConcurrency
import InflightCore

struct AssetTransport: Transport {
    let schemes: Set<String> = ["asset"]
    let files: [String: Bytes]
    private let queue = DispatchQueue(label: "assets")

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let transfer = AssetTransfer(files[String(request.url.path)], receiver, on: queue)
        transfer.resume()
        return transfer
    }

    /// Nothing to release: exchanges read memory and end by themselves.
    func shutdown() async {}
}

/// One exchange, in steps on the transport's queue: the head, the body, the end.
final class AssetTransfer: Transfer {
    private let file: Bytes?
    private let queue: DispatchQueue
    /// The receiver until the end, and the next step. Both change only on the queue.
    private let state: Guarded<(receiver: (any TransportReceiver)?, step: Int)>

    init(_ file: Bytes?, _ receiver: any TransportReceiver, on queue: DispatchQueue) {
        self.file = file
        self.queue = queue
        state = Guarded((receiver, 0))
    }

    func cancel() { queue.async { self.fail(.cancelled, "The request was cancelled.") } }

    func resume() { queue.async { self.takeStep() } }

    private func takeStep() {
        let (receiver, step) = state.withLock { state in
            defer { state.step += 1 }
            return state
        }
        guard let receiver else { return }
        guard let file else { return fail(.cannotRead, "There is no such asset.") }
        let count = Int64(file.count)
        switch step {
        case 0: proceed(receiver.didReceive(ResponseHead(status: 200, version: .none), expectedBytes: count))
        case 1: proceed(file.withUnsafeBytes { receiver.didReceive($0, at: 0) })
        default: end(.success(TransportSummary(wireBytes: count, bodyBytes: count)))
        }
    }

    private func proceed(_ disposition: TransportDisposition) {
        switch disposition {
        case .proceed: resume()
        case .cancel: cancel()
        case .pause: break
        }
    }

    private func fail(_ code: LoadError.Code, _ message: String) {
        end(.failure(LoadError(code, stage: .fetch, message: message)))
    }

    private func end(_ result: Result<TransportSummary, LoadError>) {
        state.withLock { $0.receiver.take() }?.didEnd(result)
    }
}

// A GIF of two by two pixels.
let gif = Bytes(Data(base64Encoded: "R0lGODlhAgACAIAAAP8AAAAA/ywAAAAAAgACAAACAwQABQA7")!)
var configuration = ImagePipeline.Configuration()
configuration.transports.append(.owned { _ in AssetTransport(files: ["flag.gif": gif]) })
let pipeline = try ImagePipeline(configuration: configuration)

let image = try await pipeline.image(for: "asset:flag.gif")
print("\(image.info.format), \(image.width) × \(image.height)")
do {
    _ = try await pipeline.image(for: "asset:none.gif")
} catch { print(error.code) }
await pipeline.shutdown(.finish)

// Prints:
// gif, 2 × 2
// cannotRead
