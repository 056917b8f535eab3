public import InflightCore
public import InflightWorker

/// What the standard codecs can do with one format of picture files, on this machine.
public struct FormatSupport: Sendable, Hashable {
    /// Where the work is done.
    public enum Place: String, Sendable, Hashable {
        case inProgram = "program"
        /// In a process that can do nothing else.
        case inDecoder = "decoder"
    }

    public enum Ability: Sendable, Hashable {
        case present(library: String, Place)
        /// It could be done, and is not here: why, and which of Debian's packages would bring it, if one would.
        case absent(reason: String, package: String?)
        /// Whatever is installed: Inflight does not do it.
        case none
    }

    public var format: ImageFormat
    /// The first frame, or the still.
    public var decoding: Ability
    /// All frames: see ``/InflightCore/CodecRegistry/animation(of:options:)``.
    public var animation: Ability
    /// What there is of it while it comes: see ``/InflightCore/ImageRequest/previews``.
    public var preview: Ability
    public var encoding: Ability

    /// All formats of ``/InflightCore/CodecRegistry/standard(_:_:)`` with the same arguments.
    ///
    /// - Thread: any; it blocks it for as long as it takes to start one or two decoders, some tenths of a second, and to
    ///   ask them what they have. They end before it returns. It never fails: what is wrong with a decoder is the reason
    ///   why its formats are absent.
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
