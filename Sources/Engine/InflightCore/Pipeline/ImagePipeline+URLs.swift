public import FoundationEssentials

extension ImagePipeline {
    /// Returns the image at a URL in text form. Equivalent to ``image(for:)-(ImageRequest)`` with a request for this
    /// URL and all other properties at their defaults.
    public func image(for url: String) async throws(LoadError) -> LoadedImage {
        try await image(for: ImageRequest(url))
    }

    /// Returns the image at a URL. Equivalent to ``image(for:)-(ImageRequest)`` with a request for this URL and all
    /// other properties at their defaults.
    public func image(for url: URL) async throws(LoadError) -> LoadedImage {
        try await image(for: ImageRequest(url: url))
    }

    /// Returns the bytes at a URL in text form without decoding them. Equivalent to ``data(for:)-(ImageRequest)`` with
    /// a request for this URL and all other properties at their defaults.
    public func data(for url: String) async throws(LoadError) -> Data {
        try await data(for: ImageRequest(url))
    }

    /// Returns the bytes at a URL without decoding them. Equivalent to ``data(for:)-(ImageRequest)`` with a request for
    /// this URL and all other properties at their defaults.
    public func data(for url: URL) async throws(LoadError) -> Data {
        try await data(for: ImageRequest(url: url))
    }
}
