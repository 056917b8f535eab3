// A view that shows one image after another, like a recycled cell. Its loader lives on the main actor, a new request
// replaces the old one, and an image in memory is available at once.

import Inflight

// PNG images in `data:` URLs, so that this example needs no network. One is two pixels wide, the other three high.
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
        // `onChange` is not called for this call's own changes, so show an image from memory or the placeholder here.
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
// The first request is replaced before its image arrives, so that image is never shown.
view.bind(high)
view.bind(wide)
for await line in shown where line != "placeholder" {
    print(line)
    break
}

// Prints:
// 2 × 1 from data
// 2 × 1 from memory
