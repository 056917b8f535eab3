public import FoundationEssentials

/// A value that names an image to load: an ``ImageRequest``, a URL, or a URL in text form.
///
/// Every call that loads an image takes any of them, the callback forms if their callbacks do not take the task. A URL
/// or a text is a request for it, with all other properties at their defaults.
///
/// ```swift
/// let image = try await pipeline.image(for: url)          // a URL
/// pipeline.load("https://example.org/cat.jpg", on: .main) { result in show(result) }
/// ```
///
/// Nothing is validated before the load: if the text is not an absolute URL, the load fails with
/// ``LoadError/Code/invalidURL``, and a lookup in a cache finds nothing.
public protocol ImageRequestConvertible: Sendable {
    /// The request for the image.
    var imageRequest: ImageRequest { get }
}

extension ImageRequest: ImageRequestConvertible {
    /// This request.
    public var imageRequest: ImageRequest { self }
}

extension String: ImageRequestConvertible {
    /// A request for the URL that this text is, with all other properties at their defaults.
    public var imageRequest: ImageRequest { ImageRequest(self) }
}

extension URL: ImageRequestConvertible {
    /// A request for this URL, with all other properties at their defaults.
    public var imageRequest: ImageRequest { ImageRequest(self) }
}
