import InflightConcurrency

/// Where pictures are decoded.
public enum DecodeIsolation: String, Sendable, Hashable, CaseIterable {
    /// In the program where the format's decoder is small and well tried, in a decoder's process where it is not.
    case auto
    /// All formats in a decoder's process.
    case worker
    /// All in the program, as far as it has decoders: for bytes that it trusts.
    case inProcess = "in-process"
}

/// How pictures are decoded in processes of their own, by `inflight-decoder`.
public struct DecoderConfiguration: Sendable {
    /// The program; `nil`: what `INFLIGHT_DECODER` names in the environment, else `inflight-decoder` beside the running
    /// program, in `../libexec/inflight` from there, or in `libexec/inflight` of `/usr/local` or `/usr`.
    public var path: String?
    /// How much memory a decoder may have beside what it begins with, in bytes. One that wants more ends.
    public var maximumMemory = 2 << 30
    /// How long one decode may take. One that takes longer is ended with its process, and its load with
    /// ``/InflightCore/LoadError/Code/timedOut``.
    public var maximumDecodeTime = Duration.seconds(30)
    /// Whether SVG drawings are made: they are programs more than pictures, and small ones can take long. Text needs fonts,
    /// of which a decoder has the usual three only.
    public var drawsSVG = false
    /// The protections without which no decoder is used; `limits` and `seccomp` are always there. Where one is missing,
    /// loads end with ``/InflightCore/LoadError/Code/decoderUnavailable``. None by default, because many containers
    /// allow no namespaces.
    public var requiredProtections: Set<DecoderProtection> = []
    /// Called once with each protection that this system does not give to a decoder, unless it is required. On the
    /// thread that decodes, without a lock.
    public var missingProtectionsHandler: (@Sendable (Set<DecoderProtection>) -> Void)?
    /// How many decoders without work are kept for the next. There are never more at work than decodes.
    public var idleDecoders: Int

    /// - Parameter idleDecoders: `nil`: as many as there are processors.
    public init(path: String? = nil, idleDecoders: Int? = nil) {
        self.path = path
        self.idleDecoders = idleDecoders ?? min(MachineSize.processors, DescriptorLimit.decoders)
    }
}
