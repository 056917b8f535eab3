extension ImageRequest {
    /// The representation in which an image is stored.
    ///
    /// A processed image (resized and processed as requested) needs no such work when the same request comes again, and
    /// often takes less space. It is used while HTTP allows the response that it was made from to be used and nothing
    /// newer is stored of that response. When it is stale and the bytes are not stored, the origin is asked with the
    /// validator of that response; after a 304 the image is used again, otherwise it is made again. After a redirect
    /// only the bytes are stored.
    public enum StoredRepresentation: Sendable, Hashable {
        /// The bytes as received.
        case original
        /// The processed image, encoded with these options. PNG preserves its pixels exactly. JPEG would lose
        /// transparency, so a transparent image is stored as PNG instead. When the image is served from the store, the
        /// stored file is all that is known of it, and `info` and `bodyBytes` describe that file.
        /// ``ImageRequest/keepsMetadata`` takes precedence over metadata in these options. If the format has no place
        /// for metadata, none is stored.
        case processed(EncodeOptions)
        /// Both the bytes as received and the processed image, encoded with these options. Another size can then be
        /// made without contacting the server.
        case both(EncodeOptions)

        /// The processed image, encoded losslessly as PNG.
        public static var processed: StoredRepresentation { .processed(EncodeOptions(format: .png)) }
        /// Both the bytes as received and the processed image, encoded losslessly as PNG.
        public static var both: StoredRepresentation { .both(EncodeOptions(format: .png)) }

        var keepsOriginal: Bool {
            if case .processed = self { false } else { true }
        }

        /// The options by which processed images are encoded; nil if none are stored.
        var processedOptions: EncodeOptions? {
            switch self {
            case .original: nil
            case .processed(let options), .both(let options): options
            }
        }
    }
}
