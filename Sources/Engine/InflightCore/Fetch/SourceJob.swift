import InflightConcurrency

/// Loads bytes or an image from a program's own code.
// Unchecked: it adds no mutable state.
final class SourceJob: Job, @unchecked Sendable {
    private let call = ExtensionCall()

    override var logFields: [(name: String, value: String)] { [("job", "source"), ("url", plan.url.string)] }

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        guard let source = plan.request.source else { preconditionFailure("a source job without a source") }
        engine.log(.debug, "source started") { [("url", plan.url.string)] }
        call.start(on: engine.taskExecutor, source.load) { [self] result in
            switch result {
            case .success(let output):
                do throws(LoadError) {
                    engine.jobEnded(self, with: JobResult(try value(of: output)))
                } catch {
                    fail(error)
                }
            case .failure(let error):
                fail(.thrown(error, by: "source", url: plan.url.string, stage: .fetch))
            }
        }
        return nil
    }

    override func cancel() {
        call.cancel()
    }

    private func fail(_ error: LoadError) {
        engine.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
    }

    private func value(of output: ImageRequest.Source.Output) throws(LoadError) -> JobResult.Value {
        switch (output, plan.goal) {
        case (.bytes(let bytes), .info):
            return .info(remote(try codecs.info(of: bytes), byteCount: bytes.count))
        case (.bytes(let bytes), _):
            let excess = engine.refuse(tasksOf: self) { limits in
                let limit = min(limits.maximumBodyBytes, engine.maximumBodyBytes)
                guard bytes.count > limit else { return nil }
                return LoadError(
                    .tooLarge, stage: .fetch,
                    message: "The source returned \(bytes.count) bytes; the limit is \(limit). "
                        + "Raise maximumBodyBytes if that is intended.")
            }
            if let excess { throw excess }
            return .response(
                LoadedResponse(
                    head: Self.head, body: bytes, url: plan.url.string, wireBytes: Int64(bytes.count), source: .source))
        // Tasks that request data share this call with tasks that request the image, and fail because there is no data.
        case (.image(let pixels), .image), (.image(let pixels), .encoded), (.image(let pixels), .data),
            (.image(let pixels), .response):
            return .image(
                LoadedImage(
                    pixels: pixels, info: Self.info(pixels), head: Self.head, url: plan.url.string, bodyBytes: 0,
                    wireBytes: 0, source: .source))
        case (.image(let pixels), .info):
            return .info(remote(Self.info(pixels), byteCount: 0))
        }
    }

    private static let head = ResponseHead(status: 200, version: .none)

    private static func info(_ pixels: PixelBuffer) -> ImageInfo {
        ImageInfo(
            format: ImageFormat(rawValue: "pixels"), storedWidth: pixels.width, storedHeight: pixels.height,
            hasAlpha: pixels.format.alpha != .opaque)
    }

    private func remote(_ info: ImageInfo, byteCount: Int) -> RemoteImageInfo {
        RemoteImageInfo(
            info: info, url: plan.url.string, contentLength: Int64(byteCount), readBytes: Int64(byteCount),
            source: .source)
    }
}

extension LoadedImage {
    /// Returns an image that needs no decoding, as it would have been decoded with these options.
    func fitted(to options: DecodeOptions) -> LoadedImage {
        var image = self
        if let resize = options.resize {
            image.pixels = pixels.resized(by: resize)
        }
        image.pixels = image.pixels.inFormat(of: options)
        return image
    }
}
