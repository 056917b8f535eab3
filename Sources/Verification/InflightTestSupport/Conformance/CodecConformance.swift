internal import InflightConcurrency
public import InflightCore

/// Checks that any codec fulfils the contract of ``ImageCodec``, with images that its author supplies.
///
/// ```swift
/// let conformance = CodecConformance(MyCodec(), samples: [.init("a photograph", bytes, format: .avif)])
/// for check in CodecConformance.checks {
///     let failures = await conformance.run(check)
///     #expect(failures.isEmpty, "\(check): \(failures)")
/// }
/// ```
///
/// It needs no test framework: failures are returned as values.
public struct CodecConformance: Sendable {
    /// A complete image of one of the codec's formats. Small ones suffice, since each is truncated at many lengths.
    public struct Sample: Sendable {
        /// The name of the sample in failures.
        public var name: String
        /// The complete file.
        public var bytes: Bytes
        /// The format of the file.
        public var format: ImageFormat
        /// Whether its first frame can be decoded from a truncated file, as that of an animation can.
        public var decodesEarly: Bool

        /// Creates a sample.
        public init(_ name: String, _ bytes: Bytes, format: ImageFormat, decodesEarly: Bool = false) {
            self.name = name
            self.bytes = bytes
            self.format = format
            self.decodesEarly = decodesEarly
        }
    }

    struct Subject: Sendable {
        let codec: any ImageCodec
        let samples: [Sample]
    }

    private let subject: Subject

    /// Creates the suite for one codec.
    ///
    /// - Parameters:
    ///   - codec: the codec to check.
    ///   - samples: at least one image of each format that the codec reads.
    public init(_ codec: any ImageCodec, samples: [Sample]) {
        subject = Subject(codec: codec, samples: samples)
    }

    /// All checks, in a fixed order.
    public static var checks: [ConformanceCheck] { list.checks }

    /// Runs one check.
    ///
    /// - Parameter check: one of ``checks``. A check of another suite traps.
    /// - Returns: the violations; empty if the rule holds.
    public func run(_ check: ConformanceCheck) async -> [ConformanceFailure] {
        await ValueBench(subject).run(check, Self.list.body(of: check))
    }

    /// Runs all checks, one after the other. Returns their violations; empty if all rules hold.
    public func run() async -> [ConformanceFailure] {
        var failures: [ConformanceFailure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    typealias CodecBench = ValueBench<Subject>

    private static let list = CheckList<CodecBench>(reading + refusing + writing)
}

extension CodecConformance.Sample {
    func probe(_ codec: any ImageCodec) throws(LoadError) -> ImageInfo {
        guard case .info(let info) = try codec.probe(bytes, format: format, isComplete: true) else {
            throw LoadError(
                .damaged, stage: .decode, message: "\(name): the codec needs more bytes than the complete file has.")
        }
        return info
    }

    func decode(
        _ codec: any ImageCodec, _ options: DecodeOptions = DecodeOptions(),
        cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        try codec.decode(bytes, format: format, options: options, cancellation: cancellation)
    }

    /// Returns the first `count` bytes.
    func prefix(_ count: Int) -> Bytes { Bytes(Array(bytes.array.prefix(count))) }

    /// The lengths at which the sample is truncated: all shorter lengths of a short image, and some of a long one.
    var shorterLengths: StrideTo<Int> { stride(from: 0, to: bytes.count, by: max(1, bytes.count / 400)) }
}
