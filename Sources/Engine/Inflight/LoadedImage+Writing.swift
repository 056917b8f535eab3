public import FoundationEssentials
internal import Glibc
public import InflightCore

extension CodecRegistry {
    /// The standard codecs for calls outside a pipeline.
    static let own = standard()
}

extension LoadedImage {
    /// Returns the image as an image file, without metadata. The standard codecs encode it on the caller's thread,
    /// which is blocked meanwhile.
    ///
    /// ```swift
    /// let data = try image.encoded(as: .png)
    /// ```
    ///
    /// - Parameters:
    ///   - format: JPEG, PNG, WebP, or AVIF if `inflight-decoder-vips` is installed. JPEG has no transparency; the
    ///     background becomes white. For more options, and metadata, see
    ///     ``CodecRegistry/encode(_:options:)``.
    ///   - quality: the quality, 1 … 100; if nil, the format's default. PNG ignores it.
    /// - Throws: ``LoadError/Code/unsupportedFormat`` or ``LoadError/Code/cannotEncode``;
    ///   for AVIF also errors of the decoder process, such as ``LoadError/Code/decoderUnavailable``.
    public func encoded(as format: ImageFormat, quality: Int? = nil) throws(LoadError) -> Data {
        Data(try CodecRegistry.own.encode(pixels, options: EncodeOptions(format: format, quality: quality)))
    }

    /// Encodes the image and writes it to a local file, which is replaced atomically if it exists. The image is written
    /// without metadata. Blocks the caller's thread meanwhile.
    ///
    /// ```swift
    /// try image.write(to: URL(filePath: "thumbnail.webp"), quality: 70)
    /// ```
    ///
    /// To save the bytes as received, write the result of ``ImagePipeline/data(for:)-(ImageRequest)``.
    ///
    /// - Parameters:
    ///   - url: a `file` URL. The folder must exist.
    ///   - format: the format of the file; if nil, that of the URL's extension. See ``encoded(as:quality:)``.
    ///   - quality: the quality, 1 … 100; if nil, the format's default. PNG ignores it.
    /// - Throws: the errors of ``encoded(as:quality:)``, also for an unknown extension;
    ///   ``LoadError/Code/cannotWrite``.
    public func write(to url: URL, as format: ImageFormat? = nil, quality: Int? = nil) throws(LoadError) {
        guard let format = format ?? ImageFormat(fileExtension: url.pathExtension) else {
            throw LoadError(
                .unsupportedFormat, stage: .encode,
                message: "The file name '\(url.lastPathComponent)' does not end with the extension of an image format. "
                    + "Use .jpg, .png, .webp or .avif, or pass a format.")
        }
        try encoded(as: format, quality: quality).replace(url)
    }
}

extension ImagePipeline {
    /// Fetches a file and writes its bytes, as received, to a local file, which is replaced atomically if it exists.
    /// The bytes are not decoded. They are held in memory until they are written.
    ///
    /// ```swift
    /// try await pipeline.download("https://example.org/cat.jpg", to: URL(filePath: "cat.jpg"))
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request. Its size and processors are ignored.
    ///   - file: a `file` URL. The folder must exist.
    ///   - earlier: the head of the response that the file has the body of. Its `ETag` or `Last-Modified` is sent along
    ///     (RFC 9110 section 13.1), so that an unchanged body is not sent again. Ignored if there is no file.
    ///   - requiresImage: whether a body that is not a whole image fails. Its structure is checked, not its pixels.
    /// - Returns: the response; nil if nothing has changed since `earlier`, and nothing was written.
    /// - Throws: the error of the load; with `requiresImage`, ``LoadError/Code/notAnImage``,
    ///   ``LoadError/Code/truncated`` or ``LoadError/Code/damaged``; ``LoadError/Code/cannotWrite``. The file is then
    ///   unchanged.
    @discardableResult
    public func download(
        _ request: ImageRequest, to file: URL, ifChangedSince earlier: ResponseHead? = nil,
        requiresImage: Bool = false
    ) async throws(LoadError) -> LoadedResponse? {
        var request = request
        if requiresImage { request.expectsImage = true }
        let condition = FileManager.default.fileExists(atPath: file.path) ? earlier.flatMap(Self.condition) : nil
        if let condition { request.fields[condition.name] = condition.value }
        let response: LoadedResponse
        do throws(LoadError) {
            response = try await wantedResponse(for: request)
        } catch {
            if error.status == 304, condition != nil { return nil }
            throw error
        }
        if requiresImage {
            do throws(LoadError) {
                _ = try codecs.validate(response.body)
            } catch {
                throw LoadError(
                    error.code, stage: error.stage, url: response.url, message: error.message, underlying: error)
            }
        }
        try Data(response.body).replace(file)
        return response
    }

    /// The header field that asks for another response than one with this head; nil if it has no validator.
    private static func condition(on head: ResponseHead) -> (name: String, value: String)? {
        if let tag = head.fields["etag"] { return ("If-None-Match", tag) }
        return head.fields["last-modified"].map { ("If-Modified-Since", $0) }
    }

    /// Fetches a URL and writes its bytes to a local file. Equivalent to
    /// ``download(_:to:ifChangedSince:requiresImage:)-(ImageRequest,_,_,_)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    @discardableResult
    public func download(
        _ request: some ImageRequestConvertible, to file: URL, ifChangedSince earlier: ResponseHead? = nil,
        requiresImage: Bool = false
    ) async throws(LoadError) -> LoadedResponse? {
        try await download(
            request.imageRequest, to: file, ifChangedSince: earlier, requiresImage: requiresImage)
    }
}

extension Data {
    fileprivate func replace(_ file: URL) throws(LoadError) {
        do {
            try write(to: file, options: .atomic)
        } catch {
            throw LoadError(
                .cannotWrite, stage: .store,
                message: "Cannot write \(file.path): \(Self.reason(error)). Check the folder and the disk.",
                underlying: error)
        }
    }

    private static func reason(_ error: any Error) -> String {
        let error = error as? CocoaError
        if let cause = error?.underlying as? POSIXError { return PosixError(code: cause.code.rawValue).text }
        return error?.code == .fileWriteUnsupportedScheme ? "it is not a file URL" : "the system gave no reason"
    }
}
