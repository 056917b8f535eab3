import InflightConcurrency

/// Makes the composed frames of one image at the requested size.
///
/// Confined to one thread at a time.
protocol FrameRendering: AnyObject {
    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// Makes the single frame of a still.
final class StillFrame: FrameRendering {
    private let codecs: CodecRegistry
    private let bytes: Bytes
    private let options: DecodeOptions

    init(_ bytes: Bytes, codecs: CodecRegistry, options: DecodeOptions) {
        self.codecs = codecs
        self.bytes = bytes
        self.options = options
    }

    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try codecs.decode(bytes, options: options, cancellation: cancellation).0
    }
}
