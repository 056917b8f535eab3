public import FoundationEssentials
public import InflightConcurrency
public import InflightCore

extension PixelBuffer {
    /// Decodes an image file that is in memory, with the standard codecs, on the caller's thread, which is blocked
    /// meanwhile.
    ///
    /// ```swift
    /// let pixels = try PixelBuffer(decoding: data, options: DecodeOptions(resize: Resize(width: 320)))
    /// ```
    ///
    /// A pipeline decodes on its own threads, within the limits of its configuration. For other codecs, see
    /// ``CodecRegistry/decode(_:options:cancellation:)``.
    ///
    /// - Parameters:
    ///   - data: the whole file.
    ///   - options: the page, the target size, the pixel format and the limits.
    ///   - cancellation: when set from another thread, the call throws soon.
    /// - Throws: ``LoadError/Code/notAnImage`` if the data is no image, ``LoadError/Code/damaged`` if it is truncated;
    ///   ``LoadError/Code/cancelled`` if `cancellation` is set; the other errors of
    ///   ``CodecRegistry/decode(_:options:cancellation:)``. None names a URL.
    public init(
        decoding data: Data, options: DecodeOptions = DecodeOptions(),
        cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) {
        self = try CodecRegistry.own.decode(Bytes(data), options: options, cancellation: cancellation).0
    }
}
