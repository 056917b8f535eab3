// The view model of a recycled cell. A new request replaces the one before, whose image never appears, and an image in
// memory is shown at once.

import Inflight
import InflightTestSupport

@MainActor final class CellModel {
    private let loader: ImageLoader
    private let onShow: @MainActor (String) -> Void
    private var text = "" { didSet { if text != oldValue { onShow(text) } } }

    init(pipeline: ImagePipeline, onShow: @escaping @MainActor (String) -> Void) {
        loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
        self.onShow = onShow
        loader.onChange = { [weak self] _ in self?.show() }
    }

    func bind(_ url: String) {
        loader.request = ImageRequest(url)
        // `onChange` is not called for this call's own changes, so show an image from memory or the placeholder here.
        show()
    }

    func prepareForReuse() { loader.reset() }

    private func show() {
        switch loader.state {
        case .idle, .loading: text = "placeholder"
        case .loaded(let image): text = "\(image.width) × \(image.height) from \(image.source)"
        case .failed(let error): text = "failed: \(error.code)"
        }
    }
}

/// Returns a PNG of one row.
func png(width: Int) throws -> Bytes {
    let memory = Bytes([UInt8](repeating: 99, count: width * 4))
    let row = PixelBuffer(width: width, height: 1, format: .rgba, bytes: memory)
    return try ImagePipeline.shared.codecs.encode(row, options: EncodeOptions(format: .png))
}

// A server on this machine, so that this example needs no network. It holds the first image back.
let server = try LoopbackServer()
server.serve("/one.png", .ok(try png(width: 1)).field("Cache-Control", "max-age=60").held("one"))
server.serve("/two.png", .ok(try png(width: 2)).field("Cache-Control", "max-age=60"))

@MainActor func scroll() async throws {
    let (shown, show) = AsyncStream.makeStream(of: String.self)
    let cell = CellModel(pipeline: .shared) { show.yield($0) }
    cell.bind(server.url("/one.png"))
    try await server.waitUntilHeld("one")
    cell.bind(server.url("/two.png"))
    try await server.waitUntilClosedByPeer("/one.png")
    print("the first transfer was cancelled")
    var lines = shown.makeAsyncIterator()
    print(await lines.next() ?? "", await lines.next() ?? "", separator: "\n")
    cell.prepareForReuse()
    cell.bind(server.url("/two.png"))
    print(await lines.next() ?? "")
}

try await scroll()

// Prints:
// the first transfer was cancelled
// placeholder
// 2 × 1 from network
// 2 × 1 from memory
