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
