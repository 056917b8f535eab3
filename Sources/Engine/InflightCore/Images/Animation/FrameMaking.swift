import InflightConcurrency

/// Makes the frames of one picture as they are seen, at the size that is wanted.
///
/// Confined: used by one thread at a time.
protocol FrameMaking: AnyObject {
    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// The one frame of a still.
final class StillFrame: FrameMaking {
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
