public import InflightConcurrency

/// The codecs of a pipeline, and the choice between them by an image file's first bytes.
///
/// A registry is immutable. Any thread may call it. Each call runs to its end on the calling thread.
public struct CodecRegistry: Sendable {
    private let decoders: [ImageFormat: any ImageCodec]
    private let encoders: [ImageFormat: any ImageCodec]
    private let signatures: [FormatSignature]
    private let codecs: [any ImageCodec]

    /// Creates a registry of codecs.
    ///
    /// - Parameter codecs: in order of precedence. If two codecs serve one format, or recognise one file, the earlier
    ///   one is used. Their formats and signatures are read once, in this call.
    public init(_ codecs: [any ImageCodec]) {
        self.codecs = codecs
        signatures = codecs.flatMap { codec in codec.signatures.filter { codec.decodableFormats.contains($0.format) } }
        var decoders: [ImageFormat: any ImageCodec] = [:]
        var encoders: [ImageFormat: any ImageCodec] = [:]
        for codec in codecs {
            for format in codec.decodableFormats where decoders[format] == nil { decoders[format] = codec }
            for format in codec.encodableFormats where encoders[format] == nil { encoders[format] = codec }
        }
        self.decoders = decoders
        self.encoders = encoders
    }

    /// Returns a registry with one more codec, which takes precedence over those that serve the same formats.
    ///
    /// ```swift
    /// configuration.codecs = .standard().adding(PPMCodec())
    /// ```
    public func adding(_ codec: any ImageCodec) -> CodecRegistry { CodecRegistry([codec] + codecs) }

    /// Returns the format of an image file, recognised by its first bytes, or `nil` if no signature matches.
    ///
    /// Signatures of registered codecs are compared first, in the order of the codecs, then those of
    /// ``ImageFormat/detect(_:)``. Needs at most the first 1,024 bytes, or the first 256 KiB of markup.
    public func detect(_ bytes: Bytes) -> ImageFormat? {
        for signature in signatures where bytes.holds(signature.bytes, at: signature.offset) {
            return signature.format
        }
        return ImageFormat.detect(bytes)
    }

    /// The formats that some codec of the registry decodes.
    public var decodableFormats: Set<ImageFormat> { Set(decoders.keys) }
    /// The formats that some codec of the registry encodes.
    public var encodableFormats: Set<ImageFormat> { Set(encoders.keys) }

    /// The number of bytes that detection needs, if the file has as many. Comments may precede markup's first element.
    private func detectionLength(_ bytes: Bytes) -> Int {
        let isMarkup = bytes.count > 0 && ImageFormat.isUndecidedMarkup(bytes)
        let needed = isMarkup ? min(SVGRoot.maximumBytes, max(1024, 2 * bytes.count)) : 64
        return signatures.reduce(needed) { max($0, $1.reach) }
    }

    /// Reads the header at the start of `bytes`, which may be only the first part of an image.
    ///
    /// Each call starts from the first byte. A caller that retries with as many bytes as the result requests spends
    /// time linear in the header's length, even if the header has a million parts.
    ///
    /// - Parameters:
    ///   - bytes: the file from its first byte.
    ///   - isComplete: whether `bytes` are the whole file, so that an unfinished header is damaged.
    /// - Throws: ``LoadError/Code/notAnImage``, ``LoadError/Code/unsupportedFormat`` or ``LoadError/Code/damaged``.
    public func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        if !isComplete, detect(bytes) == nil {
            let needed = detectionLength(bytes)
            if bytes.count < needed { return .needsMoreBytes(needed) }
        }
        let (codec, format) = try decoder(for: bytes)
        let result = try codec.probe(bytes, format: format, isComplete: isComplete)
        guard case .needsMoreBytes(let count) = result, bytes.count >= Self.usualHeaderLength else { return result }
        return .needsMoreBytes(max(count, bytes.count + bytes.count / 4))
    }

    /// Beyond this many bytes, the number requested next grows in proportion to those available.
    private static let usualHeaderLength = 64 * 1024

    /// Reads the header of a complete image without examining the rest.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - page: the page of a multi-page image, from 0. Of the standard formats, only TIFF has pages.
    /// - Throws: ``LoadError/Code/notAnImage``, ``LoadError/Code/unsupportedFormat``, ``LoadError/Code/damaged``;
    ///   ``LoadError/Code/invalidRequest`` if the page does not exist.
    public func info(of bytes: Bytes, page: Int = 0) throws(LoadError) -> ImageInfo {
        let (codec, format) = try decoder(for: bytes)
        return try codec.info(bytes, format: format, page: page)
    }

    /// Walks the structure of a complete image to its end, without decoding, and returns its header's contents.
    ///
    /// The time is linear in the bytes, and no limit on pixels applies, unless a JPEG has no end marker: decoding must
    /// then tell whether it is complete. Bytes after the image's end are ignored.
    ///
    /// - Throws: ``LoadError/Code/notAnImage``, ``LoadError/Code/unsupportedFormat``; ``LoadError/Code/damaged`` if the
    ///   image is truncated or its structure is broken.
    public func validate(_ bytes: Bytes) throws(LoadError) -> ImageInfo {
        try validate(bytes, maximumPixels: nil)
    }

    /// Validates an image like ``validate(_:)``. Throws ``LoadError/Code/tooManyPixels`` based on the header, before
    /// walking the structure.
    package func validate(_ bytes: Bytes, maximumPixels: Int?) throws(LoadError) -> ImageInfo {
        let (codec, format) = try decoder(for: bytes)
        let info = try codec.info(bytes, format: format, page: 0)
        if let maximumPixels { try info.checkPixels(maximum: maximumPixels) }
        try codec.validate(bytes, format: format)
        return info
    }

    /// Throws ``LoadError/Code/damaged`` if an image lacks its end marker: see
    /// ``ImageCodec/hasEndMarker(_:format:)``.
    package func checkEndMarker(of bytes: Bytes) throws(LoadError) {
        let (codec, format) = try decoder(for: bytes)
        guard codec.hasEndMarker(bytes, format: format) else { throw CodecError.truncated(format) }
    }

    /// Decodes the first frame of a complete image, or the page that `options` select.
    ///
    /// Blocks the calling thread until the image is decoded, by a decoder process if its codec uses one.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - options: the page, the target size, the pixel format and the limits.
    ///   - cancellation: when set from another thread, the call throws ``LoadError/Code/cancelled`` soon.
    /// - Returns: the pixels, upright, in sRGB and as `options` request; and the header's contents.
    /// - Throws: ``LoadError/Code/tooManyPixels`` and ``LoadError/Code/tooMuchMemory`` based on the header, before
    ///   allocating memory; ``LoadError/Code/damaged``, the errors of ``info(of:page:)``, and those of decoder
    ///   processes.
    public func decode(
        _ bytes: Bytes, options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> (PixelBuffer, ImageInfo) {
        let (codec, format) = try decoder(for: bytes)
        let info = try codec.info(bytes, format: format, page: options.page)
        _ = try Self.checkedMemory(codec, bytes, format, info, options)
        return (try Self.pixels(codec, bytes, format, info, options, cancellation), info)
    }

    /// Decodes after the limits were checked.
    private static func pixels(
        _ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ info: ImageInfo, _ options: DecodeOptions,
        _ cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try resized(info, options) { (options) throws(LoadError) in
            try codec.decode(bytes, format: format, options: options, cancellation: cancellation)
        } change: { pixels, finish in
            pixels = finish(pixels)
        }
    }

    /// Decodes the first frame of a complete image, or the page that `options` select, and discards its pixels.
    ///
    /// Takes as long as a decode. For a baseline JPEG or a PNG, only a few rows are in memory at a time.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - options: the page and the limits; the size is ignored.
    ///   - cancellation: when set from another thread, the call throws ``LoadError/Code/cancelled`` soon.
    /// - Throws: the errors of ``decode(_:options:cancellation:)``.
    public func verify(
        _ bytes: Bytes, options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) {
        let (codec, format) = try decoder(for: bytes)
        let info = try codec.info(bytes, format: format, page: options.page)
        let options = Self.verification(options)
        _ = try Self.checkedMemory(codec, bytes, format, info, options)
        try codec.verify(bytes, format: format, options: options, cancellation: cancellation)
    }

    /// Estimates the memory that ``verify(_:options:cancellation:)`` takes, in bytes.
    package func memoryToVerify(_ bytes: Bytes, options: DecodeOptions) throws(LoadError) -> Int {
        try memoryNeeded(bytes, options: Self.verification(options))
    }

    /// A codec that does not discard rows takes less memory for a smaller result.
    private static func verification(_ options: DecodeOptions) -> DecodeOptions {
        var options = options
        options.resize = Resize(width: 16, height: 16)
        return options
    }

    /// Returns the memory that decoding takes, in bytes, as the codec estimates it from the header.
    ///
    /// - Parameters:
    ///   - bytes: the file, of which the first part suffices unless `options` select a further page.
    ///   - options: the page, the size and the limits.
    /// - Returns: 0 if `bytes` end before the header does.
    /// - Throws: ``LoadError/Code/tooManyPixels`` or ``LoadError/Code/tooMuchMemory`` if the header or the estimate
    ///   exceeds the limits of `options`, and the errors of ``info(of:page:)``.
    public func memoryNeeded(_ bytes: Bytes, options: DecodeOptions) throws(LoadError) -> Int {
        let (codec, format) = try decoder(for: bytes)
        if options.page > 0 {
            let info = try codec.info(bytes, format: format, page: options.page)
            return try Self.checkedMemory(codec, bytes, format, info, options)
        }
        guard case .info(let info) = try codec.probe(bytes, format: format, isComplete: false) else { return 0 }
        return try Self.checkedMemory(codec, bytes, format, info, options)
    }

    private static func checkedMemory(
        _ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ info: ImageInfo, _ options: DecodeOptions
    ) throws(LoadError) -> Int {
        try info.checkPixels(maximum: options.maximumPixels)
        // The result has its own pixel limit.
        _ = try options.storedPlan(for: info)
        let needed = max(0, codec.memoryNeeded(bytes, format: format, info: info, options: options))
        guard needed > options.maximumMemory else { return needed }
        throw CodecError.tooMuchMemory(needed, allowed: options.maximumMemory)
    }

    /// Decodes an image as `options` specify. If the crop depends on the image's content, or if the image is padded,
    /// decodes the whole scaled image first, and then crops or pads it.
    private static func resized<Output>(
        _ info: ImageInfo, _ options: DecodeOptions, decode: (DecodeOptions) throws(LoadError) -> Output,
        change: (inout Output, (PixelBuffer) -> PixelBuffer) -> Void
    ) throws(LoadError) -> Output {
        guard let resize = options.resize else { return try decode(options) }
        let (plan, finish) = resize.stages(sourceWidth: info.width, sourceHeight: info.height)
        if finish == .nothing { return try decode(options) }
        var output = try decode(options.following(plan))
        change(&output) { $0.finished(finish, of: resize).inFormat(of: options) }
        return output
    }

    /// Decodes the displayable part of a truncated or damaged image.
    ///
    /// - Parameters:
    ///   - bytes: the available part of the file.
    ///   - options: the size and the limits. A page other than the first has no displayable part.
    ///   - detail: the ``PartialImage/detail`` shown so far; 0 if none.
    ///   - cancellation: when set from another thread, the call throws ``LoadError/Code/cancelled`` soon.
    /// - Returns: the part and the header's contents; `nil` if the header is incomplete, if nothing can be displayed,
    ///   or if the part's detail is at most `detail`.
    /// - Throws: ``LoadError/Code/notAnImage``, ``LoadError/Code/unsupportedFormat``; ``LoadError/Code/damaged`` if the
    ///   available part of the header is; ``LoadError/Code/tooManyPixels`` or ``LoadError/Code/tooMuchMemory`` if a
    ///   limit is exceeded.
    public func decodePart(
        _ bytes: Bytes, options: DecodeOptions, beyond detail: Int = 0, cancellation: CancellationFlag
    ) throws(LoadError) -> (PartialImage, ImageInfo)? {
        guard options.page == 0, case .info(let info) = try probe(bytes, isComplete: false) else { return nil }
        let (codec, format) = try decoder(for: bytes)
        _ = try Self.checkedMemory(codec, bytes, format, info, options)
        let part = try Self.resized(info, options) { (options) throws(LoadError) in
            try codec.decodePart(bytes, format: format, options: options, beyond: detail, cancellation: cancellation)
        } change: { part, finish in
            guard let pixels = part?.pixels else { return }
            part?.pixels = finish(pixels)
        }
        return part.map { ($0, info) }
    }

    /// Returns a complete image file's EXIF and XMP metadata (JPEG, PNG and WebP); empty if it has none.
    ///
    /// - Throws: ``LoadError/Code/notAnImage``, ``LoadError/Code/unsupportedFormat`` or ``LoadError/Code/damaged``.
    public func metadata(of bytes: Bytes) throws(LoadError) -> ImageMetadata {
        let (codec, format) = try decoder(for: bytes)
        return try codec.metadata(bytes, format: format)
    }

    /// Encodes pixels as an image file.
    ///
    /// Blocks the calling thread and cannot be cancelled. The same pixels and options yield the same bytes.
    ///
    /// - Throws: ``LoadError/Code/unsupportedFormat`` if no codec encodes the format of `options`;
    ///   ``LoadError/Code/cannotEncode`` if the format cannot hold these pixels, or if an option is invalid.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        guard let codec = encoders[options.format] else {
            let known = encoders.keys.map(\.rawValue).sorted().joined(separator: ", ")
            throw LoadError(
                .unsupportedFormat, stage: .encode,
                message: "Encoding to \(options.format) is not supported. Choose one of: \(known).")
        }
        return try codec.encode(pixels, options: options)
    }

    /// Decodes the first frame of a complete image, or the page that `decoding` selects, and encodes it.
    ///
    /// Blocks the calling thread. Takes one step if the codec can (``ImageCodec/reencode``), as that of JPEG does for
    /// most images that become smaller.
    ///
    /// - Returns: the file, its size in pixels, and the header's contents of the original.
    /// - Throws: the errors of ``decode(_:options:cancellation:)`` and ``encode(_:options:)``.
    package func reencode(
        _ bytes: Bytes, decoding: DecodeOptions, encoding: EncodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> (file: Bytes, width: Int, height: Int, original: ImageInfo) {
        let (codec, format) = try decoder(for: bytes)
        let info = try codec.info(bytes, format: format, page: decoding.page)
        _ = try Self.checkedMemory(codec, bytes, format, info, decoding)
        let stages = decoding.resize?.stages(sourceWidth: info.width, sourceHeight: info.height)
        if let stages, stages.finish == .nothing {
            let file = try codec.reencode(
                bytes, format: format, decoding: decoding, encoding: encoding, cancellation: cancellation)
            if let file { return (file, stages.plan.width, stages.plan.height, info) }
        }
        let pixels = try Self.pixels(codec, bytes, format, info, decoding, cancellation)
        return (try encode(pixels, options: encoding), pixels.width, pixels.height, info)
    }

    /// Returns the codec that decodes a format, regardless of signatures, or `nil` if there is none.
    package func decoder(of format: ImageFormat) -> (any ImageCodec)? { decoders[format] }

    func decoder(for bytes: Bytes) throws(LoadError) -> (any ImageCodec, ImageFormat) {
        guard let format = detect(bytes) else {
            throw LoadError(.notAnImage, stage: .decode, message: ContentGuess.message(for: bytes))
        }
        guard let codec = decoders[format] else {
            throw LoadError(
                .unsupportedFormat, stage: .decode,
                message: "Unsupported image format '\(format)': no codec decodes it. Use another format.")
        }
        return (codec, format)
    }
}

extension ImageInfo {
    /// The maximum number of pixels, whatever a request allows. It keeps arithmetic on pixel counts from overflowing.
    package static let maximumPixels = 1 << 32

    /// Throws ``LoadError/Code/tooManyPixels`` if the header declares more pixels than `maximum` or ``maximumPixels``.
    package func checkPixels(maximum: Int) throws(LoadError) {
        let maximum = min(maximum, Self.maximumPixels)
        let (product, overflow) = storedWidth.multipliedReportingOverflow(by: storedHeight)
        guard overflow || product > maximum else { return }
        throw LoadError(
            .tooManyPixels, stage: .decode,
            message: "The image declares \(storedWidth) × \(storedHeight) pixels; the limit is \(maximum) pixels. "
                + "Raise maximumPixels if you trust the source.")
    }
}

/// A guess at the content of bytes that are not an image, for the error message.
enum ContentGuess {
    static func message(for bytes: Bytes) -> String {
        if bytes.isEmpty { return "The body is empty." }
        let start = (0..<min(bytes.count, 512)).map { bytes[$0] }
        let text = start.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let lower = String(decoding: text.prefix(64), as: UTF8.self).lowercased()
        let advice = ". Check the URL."
        if lower.hasPrefix("<!doctype html") || lower.hasPrefix("<html") || lower.hasPrefix("<head") {
            return "This is an HTML page, not an image" + advice
        }
        if lower.hasPrefix("{") || lower.hasPrefix("[") {
            return "This looks like JSON, not an image" + advice
        }
        if lower.hasPrefix("<") { return "This looks like XML, not an image" + advice }
        let isText = start.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || (0x09...0x0D).contains($0) }
        if isText { return "This is text, not an image" + advice }
        return "The data is not in a known image format" + advice
    }
}
