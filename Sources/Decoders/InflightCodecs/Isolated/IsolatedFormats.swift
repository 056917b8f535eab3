public import InflightImages

/// The formats that are decoded outside the program, in a decoder process: AVIF, HEIC, JPEG XL, TIFF and SVG.
///
/// Plain Swift parses their headers in the program, so that an image that is too large or invalid never reaches a
/// decoder process. Any thread may call a function. A function reads only `bytes`, and its memory does not depend on
/// declared sizes.
public enum IsolatedFormats {
    /// The formats whose headers this type parses.
    public static let formats: Set<ImageFormat> = [.avif, .heic, .jpegXL, .tiff, .svg]

    /// Parses the header at the start of `bytes`, which may be only the start of an image: see
    /// ``ImageCodec/probe(_:format:isComplete:)``.
    ///
    /// - AVIF, HEIC: up to the end of the `meta` box. A sequence is described by its still, or else, up to the end of
    ///   `moov`, by its first image, and may have more frames.
    /// - JPEG XL: some hundred bytes. An animation may have more frames.
    /// - TIFF: up to the end of the first directory, which may be the end of the file. ``ImageInfo/frameCount`` is the
    ///   number of pages. In a complete file, the location of the first page's pixels is checked too.
    /// - SVG: up to the end of the root element's start tag. The size is the one that the document requests, in CSS
    ///   pixels.
    ///
    /// - Parameters:
    ///   - bytes: the start of the file.
    ///   - format: one of ``formats``.
    ///   - isComplete: whether `bytes` are the whole file, so that an unfinished header is damaged.
    /// - Throws: ``LoadError/Code/damaged`` if the header is malformed or truncated;
    ///   ``LoadError/Code/unsupportedFormat`` for another format, or for a kind of image that cannot be decoded.
    public static func probe(
        _ bytes: Bytes, format: ImageFormat, isComplete: Bool
    ) throws(LoadError) -> ProbeResult {
        try structure(of: format).probe(bytes, isComplete: isComplete)
    }

    /// Parses the header of one page of a complete image. Only TIFF has more than the first.
    ///
    /// The location of that page's pixels is checked too. The list of pages is followed until it repeats a page, up to
    /// 65,536.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - format: the detected format.
    ///   - page: the page, from 0.
    /// - Throws: ``LoadError/Code/invalidRequest`` if the page does not exist, ``LoadError/Code/damaged`` if the list
    ///   repeats a page or leaves the file before that page, and the errors of ``probe(_:format:isComplete:)``.
    public static func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        if page != 0 {
            guard format == .tiff else { throw CodecError.pagesUnsupported(format) }
            return try TIFFStructure.page(page, in: bytes)
        }
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw CodecError.truncated(format)
        }
        return info
    }

    /// Checks the structure of a complete image without decoding: see ``ImageCodec/validate(_:format:)``.
    ///
    /// The end of a JPEG XL codestream is found only by decoding it, which the decoder process does.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if the image is truncated or its structure is broken, and the errors of
    ///   ``probe(_:format:isComplete:)``.
    public static func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try structure(of: format).walk(bytes)
    }

    /// Returns whether the list of pages of a TIFF file ends within the file: see
    /// ``ImageCodec/hasEndMarker(_:format:)``. Other formats have no such end.
    public static func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool {
        guard format == .tiff else { return true }
        return (try? TIFFStructure.hasWholeList(bytes)) ?? true
    }

    /// Returns an estimate of the peak memory of decoding in bytes: see
    /// ``ImageCodec/memoryNeeded(_:format:info:options:)``.
    ///
    /// TIFF counts the strips or tiles that are decoded at once.
    public static func memoryNeeded(
        _ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions
    ) -> Int {
        var perPixel = 4
        if format == .tiff, let blocks = TIFFStructure.blockMemory(of: options.page, in: bytes) {
            return DecodeMemory.bytes(for: info, options, perPixel: 0).saturating(plus: blocks)
        }
        if format == .svg {
            var enlarging = options
            enlarging.resize?.enlarges = true
            return DecodeMemory.bytes(for: info, enlarging, perPixel: 0) + memoryToDraw(info, enlarging)
        }
        if format == .avif || format == .heic {
            // libheif holds the planes, what it converts them to, and those of alpha.
            perPixel = (info.hasAlpha ? 10 : 8) * (info.bitsPerComponent > 8 ? 2 : 1)
        }
        if format == .jpegXL, let structure = try? JPEGXLStructure.wholeHeader(bytes) {
            perPixel = structure.bytesPerPixel
        }
        return DecodeMemory.bytes(for: info, options, perPixel: perPixel)
    }

    /// libvips holds two rows of the tiles in which librsvg draws, and librsvg some surfaces of a tile for groups with
    /// opacity, masks and filters.
    private static func memoryToDraw(_ info: ImageInfo, _ options: DecodeOptions) -> Int {
        let plan = options.resize?.plan(sourceWidth: info.width, sourceHeight: info.height)
        // Larger ones are refused.
        let width = min(plan?.scaledWidth ?? info.width, 1 << 16)
        let height = min(plan?.scaledHeight ?? info.height, 1 << 16)
        let tile = 2000
        let row = width <= tile ? width : (width / tile + 1) * tile
        return 4 * (row * min(height, 2 * tile) + 10 * min(width, tile) * min(height, tile))
    }

    private static func structure(of format: ImageFormat) throws(LoadError) -> any IsolatedStructure.Type {
        switch format {
        case .avif: return AVIFStructure.self
        case .heic: return HEICStructure.self
        case .jpegXL: return JPEGXLStructure.self
        case .svg: return SVGStructure.self
        case .tiff: return TIFFStructure.self
        default: throw CodecError.unsupported(format, "unsupported header")
        }
    }
}

/// A file's structure that can be parsed to its end.
protocol IsolatedStructure: FileStructure {
    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult
    static func walk(_ bytes: Bytes) throws(LoadError)
}

extension HEIFStructure: IsolatedStructure {}
extension JPEGXLStructure: IsolatedStructure {}
extension SVGStructure: IsolatedStructure {}
extension TIFFStructure: IsolatedStructure {}
