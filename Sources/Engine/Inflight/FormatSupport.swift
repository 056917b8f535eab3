public import InflightCore
public import InflightWorker

/// The support of the standard codecs for one image format, on this machine.
public struct FormatSupport: Sendable, Hashable {
    /// The process that does the work.
    public enum Place: String, Sendable, Hashable {
        case inProgram = "program"
        /// In a sandboxed decoder process.
        case inDecoder = "decoder"
    }

    public enum Ability: Sendable, Hashable {
        case present(library: String, Place)
        /// Supported by Inflight but not available here: the reason, and the Debian package that provides it, if any.
        case absent(reason: String, package: String?)
        /// Not supported by Inflight, whatever is installed.
        case none
    }

    public var format: ImageFormat
    /// Decoding a still image, or the first frame.
    public var decoding: Ability
    /// Decoding all frames: see ``CodecRegistry/animation(of:options:processors:buffer:clock:workers:)``.
    public var animation: Ability
    /// Previews while loading: see ``ImageRequest/previews``.
    public var preview: Ability
    public var encoding: Ability

    /// Returns all formats of ``CodecRegistry/standard(_:_:)`` with the same arguments.
    ///
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
