// A view that shows one picture after another, as a recycled cell does: its loader lives on the main actor, a new request
// replaces the old one, and what is in memory is there at once.

import Inflight

// Pictures in their URLs, as PNG, two pixels wide and three high: this example needs no network.
let wide =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR42mP4z8AARAAI/gH/GcBr5wAAAABJRU5ErkJggg=="
let high =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAADCAIAAADdv/LVAAAADklEQVR42mP4z8DAAMUAFPcC/qReZHMAAAAASUVORK5CYII="

@MainActor final class PhotoView {
    private let loader: ImageLoader
    private let onShow: @MainActor (String) -> Void

    init(pipeline: ImagePipeline, onShow: @escaping @MainActor (String) -> Void) {
        loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
        self.onShow = onShow
        loader.onChange = { [weak self] _ in self?.show() }
    }

    func bind(_ url: String) {
        loader.request = ImageRequest(url)
        // What this call changed is read after it: a picture from memory, or the placeholder.
        show()
    }

    private func show() {
        switch loader.state {
        case .idle, .loading: onShow("placeholder")
        case .loaded(let image): onShow("\(image.width) × \(image.height) from \(image.source)")
        case .failed(let error): onShow("failed: \(error.code)")
        }
    }
}

let (shown, show) = AsyncStream.makeStream(of: String.self)
let view = PhotoView(pipeline: .shared) { show.yield($0) }
view.bind(wide)
for await line in shown where line != "placeholder" {
    print(line)
    break
}
// Replaced before its picture came: it is never shown.
view.bind(high)
view.bind(wide)
for await line in shown where line != "placeholder" {
    print(line)
    break
}

// Prints:
// 2 × 1 from data
// 2 × 1 from memory
