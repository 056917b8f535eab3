public import FoundationEssentials
public import InflightConcurrency

// The awaited calls for a URL, in text form or not. Those for an `ImageRequest` are apart from them, so that a static
// member of it can be the argument, as in `image(for: .thumbnail(of: photo))`.

extension ImagePipeline {
    /// Returns the image at a URL. Equivalent to ``image(for:)-(ImageRequest)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func image(for request: some ImageRequestConvertible) async throws(LoadError) -> LoadedImage {
        try await image(for: request.imageRequest)
    }

    /// Returns the bytes at a URL without decoding them. Equivalent to ``data(for:)-(ImageRequest)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func data(for request: some ImageRequestConvertible) async throws(LoadError) -> Data {
        try await data(for: request.imageRequest)
    }

    /// Returns the response of a URL, whatever its status. Equivalent to ``response(for:)-(ImageRequest)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func response(for request: some ImageRequestConvertible) async throws(LoadError) -> LoadedResponse {
        try await response(for: request.imageRequest)
    }

    /// Returns the information in the header of the image at a URL. Equivalent to ``info(for:)-(ImageRequest)`` with
    /// its ``ImageRequestConvertible/imageRequest``.
    public func info(for request: some ImageRequestConvertible) async throws(LoadError) -> RemoteImageInfo {
        try await info(for: request.imageRequest)
    }

    /// Returns the events of the load of a URL. Equivalent to ``events(for:)-(ImageRequest)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func events(for request: some ImageRequestConvertible) -> LoadEvents {
        events(for: request.imageRequest)
    }

    /// Returns the events of a load of the bytes at a URL. Equivalent to ``events(forData:)-(ImageRequest)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func events(forData request: some ImageRequestConvertible) -> DataEvents {
        events(forData: request.imageRequest)
    }

    /// Returns the image at a URL as an animation. Equivalent to
    /// ``animation(for:buffer:workers:configure:)-(ImageRequest,_,_,_)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    public func animation(
        for request: some ImageRequestConvertible, buffer: AnimatedImage.Buffer = .init(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers,
        configure: (inout DecodeOptions) -> Void = { _ in }
    ) async throws(LoadError) -> AnimatedImage {
        try await animation(for: request.imageRequest, buffer: buffer, workers: workers, configure: configure)
    }
}
