public import InflightConcurrency
public import InflightCore

/// A pool of decoder processes, each of which decodes one image at a time.
///
/// - Thread: any; a call blocks its thread until the image is decoded.
/// - Release: the last reference ends all its processes.
/// - Cost: starting a process takes some tens of milliseconds, if none is idle. Otherwise an image costs two messages,
///   a copy of its file's bytes, and two copies of its pixels, or a mapping of more than 1 MiB of pixels.
public final class DecoderPool: Sendable {
    private let configuration: DecoderConfiguration
    private let suffix: String
    private let protections: ProtectionCheck
    private let clock: any EngineClock
    private let idle = Guarded([DecoderProcess]())

    /// Creates a pool, without a process. Processes are started on demand.
    ///
    /// - Parameters:
    ///   - configuration: the program, the limits and the required protections.
    ///   - suffix: the suffix of another decoder program's name, such as `-vips`, beside the default program. The
    ///     default program is used if there is no such program.
    public convenience init(_ configuration: DecoderConfiguration = DecoderConfiguration(), suffix: String = "") {
        self.init(configuration, suffix: suffix, protections: ProtectionCheck(configuration))
    }

    /// - Parameters:
    ///   - protections: the check for one configuration. Pools that share it report a missing protection once.
    ///   - clock: measures the time of a decode.
    package init(
        _ configuration: DecoderConfiguration, suffix: String, protections: ProtectionCheck,
        clock: any EngineClock = SystemClock()
    ) {
        self.configuration = configuration
        self.suffix = suffix
        self.protections = protections
        self.clock = clock
    }

    /// Whether there is a decoder program now. Looks for its file, and starts no process. The default program does not
    /// count in place of another one; one of any other name may be both.
    package var isInstalled: Bool {
        guard let path = try? DecoderLocation.find(configuration.path, suffix: suffix) else { return false }
        return path.hasSuffix(suffix) || !path.hasSuffix("/inflight-decoder")
    }

    /// The memory that a process may have, in bytes: see ``DecoderConfiguration/maximumMemory``.
    package var maximumMemory: Int { configuration.maximumMemory }

    /// Decodes an image in a sandboxed process.
    ///
    /// Blocks the calling thread. Uses an idle process, or starts one. A cancel ends the call within 50 ms.
    ///
    /// - Parameters:
    ///   - bytes: the whole file, which is copied to memory shared with the process.
    ///   - format: the format of the file, which selects the codec.
    ///   - options: the page, the size, the pixel format and the limits.
    ///   - cancellation: may be set from any thread.
    /// - Throws: the codec's errors; ``LoadError/Code/decoderCrashed`` if the process crashed or was
    ///   killed, ``LoadError/Code/timedOut`` if it took longer than
    ///   ``DecoderConfiguration/maximumDecodeTime``, ``LoadError/Code/decoderUnavailable`` if none can be
    ///   started, ``LoadError/Code/unsupportedFormat`` if the program does not decode the format.
    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try cancellation.check()
        let decoder = try take(decoding: format, cancellation)
        defer { put(decoder) }
        return try decoder.decode(
            bytes, format: format, options: options, maximumTime: configuration.maximumDecodeTime,
            cancellation: cancellation)
    }

    /// Decodes the displayable part of a truncated or damaged image in a sandboxed process.
    ///
    /// Blocks and is cancelled as ``decode(_:format:options:cancellation:)``.
    ///
    /// - Parameters:
    ///   - bytes: the bytes received so far, or a damaged file.
    ///   - format: the detected format.
    ///   - options: the target size, the pixel format and the limits.
    ///   - detail: the ``PartialImage/detail`` shown so far; 0 if none.
    ///   - cancellation: when set from another thread, the decode is stopped.
    /// - Returns: `nil` if the part has no more than `detail`.
    /// - Throws: the errors of ``decode(_:format:options:cancellation:)``.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        try cancellation.check()
        let decoder = try take(decoding: format, cancellation)
        defer { put(decoder) }
        return try decoder.decodePart(
            bytes, format: format, options: options, beyond: detail, maximumTime: configuration.maximumDecodeTime,
            cancellation: cancellation)
    }

    /// Checks in a sandboxed process whether a file is valid, for formats that need their decoder for this.
    ///
    /// Blocks the calling thread and cannot be cancelled.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if it is truncated or corrupt, and the errors of
    ///   ``decode(_:format:options:cancellation:)``.
    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        let decoder = try take(decoding: format)
        defer { put(decoder) }
        try decoder.validate(bytes, format: format, maximumTime: configuration.maximumDecodeTime)
    }

    /// Encodes pixels in a sandboxed process, for encoders that a program should not link.
    ///
    /// Blocks the calling thread and cannot be cancelled.
    ///
    /// - Throws: ``LoadError/Code/cannotEncode`` if `options` contain metadata, which are not passed to
    ///   the process; the codec's errors, and those of the process as in ``decode(_:format:options:cancellation:)``.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        guard options.metadata?.isEmpty ?? true else { throw CodecError.metadataUnsupported(options.format) }
        let decoder = try take()
        defer { put(decoder) }
        guard decoder.encodes.contains(options.format) else { throw Self.notServed(options.format, stage: .encode) }
        return try decoder.encode(pixels, options: options, maximumTime: configuration.maximumDecodeTime)
    }

    /// Returns the formats and protections of this pool's decoders.
    ///
    /// Asks an idle process. If there is none, starts one, which blocks for some tens of milliseconds.
    ///
    /// - Throws: ``LoadError/Code/decoderUnavailable`` if none can be started.
    public func capabilities() throws(LoadError) -> DecoderCapabilities {
        let decoder = try take()
        defer { put(decoder) }
        return DecoderCapabilities(
            decodes: decoder.decodes, encodes: decoder.encodes, protections: decoder.protections,
            missing: decoder.missing)
    }

    private static func notServed(_ format: ImageFormat, stage: LoadError.Stage) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: stage,
            message:
                "The installed decoder does not support \(format). Install inflight-decoder-vips beside it, or use "
                + "another format.")
    }

    private func take(
        decoding format: ImageFormat, _ cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> DecoderProcess {
        let decoder = try take(cancellation)
        if decoder.decodes.contains(format) { return decoder }
        put(decoder)
        throw Self.notServed(format, stage: .decode)
    }

    private func take(_ cancellation: CancellationFlag = CancellationFlag()) throws(LoadError) -> DecoderProcess {
        // An idle decoder may have been killed meanwhile.
        while let decoder = idle.withLock({ $0.popLast() }) {
            if decoder.isFresh { return decoder }
        }
        let path = try DecoderLocation.find(configuration.path, suffix: suffix)
        let decoder = try DecoderProcess(
            path: path, configuration: configuration, clock: clock, cancellation: cancellation)
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

/// The capabilities of decoder processes.
public struct DecoderCapabilities: Sendable, Hashable {
    /// The formats that the processes decode.
    public var decodes: Set<ImageFormat>
    /// The formats that the processes encode.
    public var encodes: Set<ImageFormat>
    /// The protections that the system enforces.
    public var protections: Set<DecoderConfiguration.Protection>
    /// The components that its libraries lack or did not find, which reduce the formats it reads or writes. For
    /// `inflight-decoder-vips` they have the names of `VipsPart`.
    public var missing: [String]

    /// Creates a description of decoder processes, for example for a test.
    public init(
        decodes: Set<ImageFormat>, encodes: Set<ImageFormat>, protections: Set<DecoderConfiguration.Protection> = [],
        missing: [String] = []
    ) {
        self.decodes = decodes
        self.encodes = encodes
        self.protections = protections
        self.missing = missing
    }
}
