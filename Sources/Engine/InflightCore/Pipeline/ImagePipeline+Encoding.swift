/// The file of an image: the result of ``ImagePipeline/encoded(for:as:)``.
public struct EncodedImage: Sendable {
    /// The bytes of the file.
    public var bytes: Bytes
    /// The format of the file: that of the options, or PNG if JPEG would lose transparency.
    public var format: ImageFormat
    /// The source of the image that was encoded, or of the file.
    public var source: LoadSource
    /// The time for which the file may be served without asking its origin, such as by `Cache-Control: max-age` (RFC
    /// 9111 section 4.2). Zero for a stale response, and for one that a shared cache must not store: `private`,
    /// `no-store`, `no-cache`. Nil if HTTP has no rule for it, as for a file.
    public var freshness: Duration?
    /// An entity tag for the file (RFC 9110 section 8.8.3): of the origin's, the steps of the request and the options.
    /// Weak if the origin's is, or if there is only a `Last-Modified`. Nil without a validator of the origin.
    public var entityTag: String?
}

extension ImagePipeline {
    /// Returns the image as a file in one format, resized and processed as requested: for proxies and services.
    ///
    /// Loads of equal requests with equal options share the work, so that an image is encoded once. The file is kept in
    /// memory and in the store like an image, and served from there without decoding. If the request's
    /// ``ImageRequest/storedRepresentation-swift.property`` is ``ImageRequest/StoredRepresentation/original``, both the
    /// bytes of the origin and the file are stored, otherwise the file only or both, as it says. Files take at most an
    /// eighth of the memory that ``Configuration/memoryCache`` allows, beside the images.
    ///
    /// Cancelling the surrounding task cancels this load; jobs with other subscribers continue.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - options: the format and its options. Their metadata give way to those of the file, if the request keeps
    ///     them.
    /// - Throws: the error of the load; ``LoadError/Code/unsupportedFormat`` and ``LoadError/Code/cannotEncode`` if the
    ///   image cannot be encoded; ``LoadError/Code/cancelled`` if the surrounding task is cancelled.
    public func encoded(
        for request: some ImageRequestConvertible, as options: EncodeOptions
    ) async throws(LoadError) -> EncodedImage {
        var request = request.imageRequest
        // The file has a body of its own.
        request.keepsBody = false
        request.storedRepresentation =
            request.storedRepresentation.keepsOriginal ? .both(options) : .processed(options)
        let (result, isShared) = try await outcome(of: request, goal: .encoded)
        let file = try result.response(isShared: isShared).get()
        let control = CacheControl(file.head.fields)
        let mayBeShared = !(file.isStale || control.isPrivate || control.noStore || control.noCache)
        return EncodedImage(
            bytes: file.body, format: engine.codecs.detect(file.body) ?? options.format, source: file.source,
            freshness: file.lifetime.map { mayBeShared ? $0.remaining(at: engine.clock.wallTime) : .zero },
            entityTag: entityTag(of: file, request, options))
    }

    private func entityTag(of file: LoadedResponse, _ request: ImageRequest, _ options: EncodeOptions) -> String? {
        let fields = file.head.fields
        guard let validator = fields["etag"] ?? fields["last-modified"] else { return nil }
        let isWeak = fields["etag"].map { EntityTag(Array($0.utf8)[...])?.isWeak ?? true } ?? true
        var hash = SHA256()
        hash.append(Array(validator.utf8))
        hash.append(Array(request.imageIdentity(request.processors.count, options).utf8))
        return (isWeak ? "W/" : "") + "\"" + hash.hex.prefix(32) + "\""
    }
}
