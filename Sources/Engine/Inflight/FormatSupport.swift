public import InflightCore
public import InflightWorker

/// The support of the standard codecs for one image format, on this machine.
public struct FormatSupport: Sendable, Hashable {
    /// The process that does the work.
    public enum Place: String, Sendable, Hashable {
        /// In the program itself.
        case inProgram = "program"
        /// In a sandboxed decoder process.
        case inDecoder = "decoder"
    }

    /// The availability of one operation on a format.
    public enum Ability: Sendable, Hashable {
        /// Available: the library that does the work, for people, and the process in which it runs.
        case present(library: String, Place)
        /// Supported by Inflight but not available here: the reason, for people, and the Debian packages that provide
        /// it, separated by spaces; nil if no package does.
        case absent(reason: String, package: String?)
        /// Not supported by Inflight, whatever is installed.
        case none
    }

    /// The image format.
    public var format: ImageFormat
    /// The availability of decoding a still image, or the first frame.
    public var decoding: Ability
    /// The availability of decoding all frames: see
    /// ``CodecRegistry/animation(of:options:processors:buffer:clock:workers:)``.
    public var animation: Ability
    /// The availability of previews while loading: see ``ImageRequest/previews``.
    public var preview: Ability
    /// The availability of encoding images in this format.
    public var encoding: Ability

    /// Returns the support for all formats of ``CodecRegistry/standard(_:_:)`` with the same arguments.
    ///
    /// - Parameters:
    ///   - decoding: the process in which images are decoded.
    ///   - decoder: the configuration of the decoder processes.
    /// - Thread: any. Blocks while it starts one or two decoders, some tenths of a second, and reads their
    ///   capabilities. They end before it returns. A decoder's error becomes the reason why its formats are absent, so
    ///   this never fails.
    public static func all(
        decoding: DecodeIsolation = .auto, decoder: DecoderConfiguration = .init()
    ) -> [FormatSupport] {
        FormatList(
            decoding: decoding, drawsSVG: decoder.drawsSVG,
            usual: decoding == .worker ? capabilities(decoder, suffix: "") : nil,
            vips: decoding == .inProcess ? nil : capabilities(decoder, suffix: "-vips")
        ).formats
    }

    private static func capabilities(
        _ decoder: DecoderConfiguration, suffix: String
    ) -> Result<DecoderCapabilities, LoadError> {
        Result { () throws(LoadError) in try DecoderPool(decoder, suffix: suffix).capabilities() }
    }
}
