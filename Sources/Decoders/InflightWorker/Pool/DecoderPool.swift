public import InflightConcurrency
public import InflightCore

/// Decoders in processes of their own, each for one picture at a time, kept for the next one.
///
/// - Thread: any; a call blocks its thread until the picture is there.
/// - Release: with the last reference all its processes end.
/// - Cost: the first picture of a thread starts a process, some tens of milliseconds. From then on a picture costs two
///   messages, a copy of its file's bytes, and the mapping of its pixels, which are not copied.
public final class DecoderPool: Sendable {
    private let configuration: DecoderConfiguration
    private let suffix: String
    private let protections: ProtectionCheck
    private let idle = Guarded([DecoderProcess]())

    /// - Parameter suffix: what stands behind the usual name of another program of this kind, such as `-vips`, that lies
    ///   beside the usual one. Where there is none, the usual one is asked.
    public convenience init(_ configuration: DecoderConfiguration = DecoderConfiguration(), suffix: String = "") {
        self.init(configuration, suffix: suffix, protections: ProtectionCheck(configuration))
    }

    /// - Parameter protections: of one configuration; pools that share it report a missing protection once in all.
    package init(_ configuration: DecoderConfiguration, suffix: String, protections: ProtectionCheck) {
        self.configuration = configuration
        self.suffix = suffix
        self.protections = protections
    }

    /// Decodes in a process that can do nothing else.
    ///
    /// Throws what the codec throws there; ``/InflightCore/LoadError/Code/decoderCrashed`` where it crashed or was
    /// killed, ``/InflightCore/LoadError/Code/timedOut`` where it took too long,
    /// ``/InflightCore/LoadError/Code/decoderUnavailable`` where there is none. A cancel ends it within 50 ms.
    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try cancellation.check()
        return try withDecoder { (decoder) throws(LoadError) in
            guard decoder.decodes.contains(format) else { throw Self.notServed(format, stage: .decode) }
            return try decoder.decode(
                bytes, format: format, options: options, maximumTime: configuration.maximumDecodeTime,
                cancellation: cancellation)
        }
    }

    /// Decodes there what can be shown of a picture that is not whole; `nil` where that is no more than `detail`. Throws as
    /// ``decode(_:format:options:cancellation:)`` does.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialPicture? {
        try cancellation.check()
        return try withDecoder { (decoder) throws(LoadError) in
            guard decoder.decodes.contains(format) else { throw Self.notServed(format, stage: .decode) }
            return try decoder.decodePart(
                bytes, format: format, options: options, beyond: detail, maximumTime: configuration.maximumDecodeTime,
                cancellation: cancellation)
        }
    }

    /// Looks there whether a file is whole, for formats where that takes the decoder. Throws as
    /// ``decode(_:format:options:cancellation:)`` does.
    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try withDecoder { (decoder) throws(LoadError) in
            guard decoder.decodes.contains(format) else { throw Self.notServed(format, stage: .decode) }
            try decoder.validate(bytes, format: format, maximumTime: configuration.maximumDecodeTime)
        }
    }

    /// Writes pixels as a picture file, in such a process: for encoders that a program does not want to be linked to.
    /// Metadata is refused: it is not handed over.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        guard options.metadata?.isEmpty ?? true else { throw PictureError.noPlaceForMetadata(options.format) }
        return try withDecoder { (decoder) throws(LoadError) in
            guard decoder.encodes.contains(options.format) else {
                throw Self.notServed(options.format, stage: .encode)
            }
            return try decoder.encode(pixels, options: options, maximumTime: configuration.maximumDecodeTime)
        }
    }

    /// What a decoder of this pool reads and writes, and what protects the program from it; starts one if there is none.
    public func capabilities() throws(LoadError) -> DecoderCapabilities {
        try withDecoder { (decoder) throws(LoadError) in
            DecoderCapabilities(
                decodes: decoder.decodes, encodes: decoder.encodes, protections: decoder.protections,
                missing: decoder.missing)
        }
    }

    private static func notServed(_ format: ImageFormat, stage: LoadError.Stage) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: stage,
            message:
                "The decoder that is installed does not know \(format). Install inflight-decoder-vips beside it, or ask for "
                + "another format.")
    }

    private func withDecoder<Result>(
        _ body: (DecoderProcess) throws(LoadError) -> Result
    ) throws(LoadError) -> Result {
        let decoder = try take()
        defer { put(decoder) }
        return try body(decoder)
    }

    private func take() throws(LoadError) -> DecoderProcess {
        // One that was killed while it had nothing to do is nobody's loss.
        while let decoder = idle.withLock({ $0.popLast() }) {
            if decoder.isFresh { return decoder }
        }
        let path = try DecoderLocation.find(configuration.path, suffix: suffix)
        let decoder = try DecoderProcess(path: path, configuration: configuration)
        try protections.check(decoder.protections, of: path)
        return decoder
    }

    private func put(_ decoder: DecoderProcess) {
        guard decoder.isFresh else { return }
        idle.withLock { idle in
            if idle.count < configuration.idleDecoders { idle.append(decoder) }
        }
    }
}

/// What decoders in processes of their own can do.
public struct DecoderCapabilities: Sendable, Hashable {
    public var decodes: Set<ImageFormat>
    public var encodes: Set<ImageFormat>
    /// What the system enforces there.
    public var protections: Set<DecoderProtection>
    /// What its libraries were built without, or have not found, so that it reads or writes less than it could; by the
    /// names of `VipsPart` where it is `inflight-decoder-vips`.
    public var missing: [String]

    public init(
        decodes: Set<ImageFormat>, encodes: Set<ImageFormat>, protections: Set<DecoderProtection> = [],
        missing: [String] = []
    ) {
        self.decodes = decodes
        self.encodes = encodes
        self.protections = protections
        self.missing = missing
    }
}
