import Dispatch
import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// Prepares images for drawing: first their bytes, then their first frame at its size on the terminal.
struct TerminalImageLoader: Sendable {
    /// The bytes of an image, and the information of its header.
    struct Source: Sendable {
        var place: String
        var bytes: Bytes
        var info: ImageInfo
    }

    /// An image at its size on the terminal.
    struct Picture: Sendable {
        var source: Source
        var image: AnimatedImage
        var fit: ImageFit
        /// The output for its first frame.
        var form: Drawing.Form
    }

    let options: ShowOptions
    let pipeline: ImagePipeline
    private let progress: ShowProgress
    private let queue = DispatchQueue(label: "inflight.show")

    init(options: ShowOptions, pipeline: ImagePipeline, progress: ShowProgress) {
        self.options = options
        self.pipeline = pipeline
        self.progress = progress
    }

    func source(_ place: String) async throws(LoadError) -> Source {
        let body = InfoCommand.isURL(place) ? try await fetched(place) : nil
        let limit = Int(clamping: options.network.limits.maximumBodyBytes)
        return try await onWorker { [codecs = pipeline.codecs, page = options.page] () throws(LoadError) in
            let bytes = if let body { body } else { try LocalImage.whole(place, limit: limit) }
            return Source(place: place, bytes: bytes, info: try codecs.info(of: bytes, page: page))
        }
    }

    func picture(_ source: Source, layout: GridLayout, drawing: Drawing) async throws(LoadError) -> Picture {
        let fit = ImageFit(
            width: source.info.width, height: source.info.height, in: layout, raster: drawing.raster,
            enlarges: options.enlarges)
        var decoding = DecodeOptions(resize: Resize(width: fit.width, height: fit.height, fit: .exact))
        decoding.maximumPixels = options.network.limits.maximumPixels
        decoding.page = options.page
        let processors = options.background.map { color in
            [ImageProcessor.flatten(on: PixelColor(red: color[0], green: color[1], blue: color[2]))]
        }
        let image = try await onWorker { [codecs = pipeline.codecs, decoding] () throws(LoadError) in
            try codecs.animation(of: source.bytes, options: decoding, processors: processors ?? [])
        }
        let first = try await image.frame(at: 0)
        let form = try await onWorker { [codecs = pipeline.codecs] () throws(LoadError) in
            try drawing.form(of: first.pixels, codecs)
        }
        return Picture(source: source, image: image, fit: fit, form: form)
    }

    private func fetched(_ place: String) async throws(LoadError) -> Bytes {
        let request = RequestFactory(options.network).request(place, try ResourceURL(place))
        let bridge = ValueBridge<Result<LoadedResponse, LoadError>>()
        let load = await progress.begin()
        let task = pipeline.loadResponse(request, on: .queue(queue)) { [progress] _, received in
            Task { await progress.didReceive(received.receivedBytes, load: load) }
        } completion: { _, result in
            bridge.open(with: result)
        }
        let result = await withTaskCancellationHandler {
            await bridge.value()
        } onCancel: {
            // A cancelled task delivers no result, so the bridge is opened here.
            task.cancel()
            bridge.open(with: .failure(Self.cancelled))
        }
        await progress.didEnd(isFailure: (try? result.get()) == nil)
        return try result.get().body
    }

    /// Runs blocking or computing work on the worker threads of animations, not on Swift's thread pool.
    private func onWorker<Value: Sendable>(
        _ body: @escaping @Sendable () throws(LoadError) -> Value
    ) async throws(LoadError) -> Value {
        if Task.isCancelled { throw Self.cancelled }
        return try await ValueBridge<Result<Value, LoadError>>.value { bridge in
            AnimatedImage.sharedWorkers.run { bridge.open(with: Result { () throws(LoadError) in try body() }) }
        }.get()
    }

    private static let cancelled = LoadError(.cancelled, stage: .fetch, message: "The request was cancelled.")
}
