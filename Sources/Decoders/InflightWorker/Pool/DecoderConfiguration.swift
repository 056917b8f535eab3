import InflightConcurrency

/// The process in which images are decoded.
public enum DecodeIsolation: String, Sendable, Hashable, CaseIterable {
    /// In the program if the format's decoder is small and well tested, otherwise in a decoder process.
    case auto
    /// All formats in a decoder process. Animations are opened as stills.
    case worker
    /// All formats in the program, as far as it has decoders: not AVIF, HEIC, JPEG XL, TIFF and SVG. For trusted input
    /// only.
    case inProcess = "in-process"
}

/// The configuration of the decoder processes, which run `inflight-decoder`.
public struct DecoderConfiguration: Sendable {
    /// The path of the decoder program.
    ///
    /// If nil, it is the value of `INFLIGHT_DECODER` in the environment, else `inflight-decoder` beside the running
    /// program, in `../libexec/inflight` from there, or in `libexec/inflight` of `/usr/local` or `/usr`.
    public var path: String?
    /// The maximum memory (address space) of a decoder beyond its initial amount, in bytes. The pixels of one image may
    /// take half of it. A decoder that exceeds it ends.
    public var maximumMemory = 2 << 30
    /// The maximum duration of one decode, encode or validation. One that takes longer is ended with its process, and
    /// its load fails with ``LoadError/Code/timedOut``.
    public var maximumDecodeTime = Duration.seconds(30)
    /// Whether SVG is rendered. Drawings are programs rather than images, and small ones can take long. Text needs
    /// fonts, and a decoder has only sans-serif, serif and monospace.
    public var drawsSVG = false
    /// The protections that a decoder must have; `limits` and `seccomp` are always present. If one is missing, loads
    /// fail with ``LoadError/Code/decoderUnavailable``. None by default: many containers forbid
    /// namespaces.
    public var requiredProtections: Set<Protection> = []
    /// Called once with each protection that the system does not enforce on a decoder, unless it is required. It is
    /// called on the thread that decodes, without a lock.
    public var missingProtectionsHandler: (@Sendable (Set<Protection>) -> Void)?
    /// The maximum number of idle decoders to retain. No more decoders are busy than there are concurrent decodes.
    public var idleDecoders: Int

    /// Creates a configuration with the default limits. No file is searched and no process started.
    ///
    /// - Parameters:
    ///   - path: the path of the decoder program; if nil, it is searched as ``path`` describes.
    ///   - idleDecoders: the maximum number of idle decoders to retain; if nil, the number of processors, or fewer if
    ///     the process may have few descriptors.
    public init(path: String? = nil, idleDecoders: Int? = nil) {
        self.path = path
        self.idleDecoders = idleDecoders ?? min(MachineSize.processors, DescriptorLimit.decoders)
    }
}
