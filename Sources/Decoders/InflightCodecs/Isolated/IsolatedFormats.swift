public import InflightCore

/// What is known of the pictures that are decoded apart from the program, in the worker: AVIF, HEIC, JPEG XL, TIFF and
/// SVG. Their headers are read here, by plain Swift on the program's own threads, so that what is too large or is none
/// never gets as far as the worker.
///
/// A function may be called on any thread; it looks at `bytes` alone and takes no memory in proportion to what they claim.
public enum IsolatedFormats {
    public static let formats: Set<ImageFormat> = [.avif, .heic, .jpegXL, .tiff, .svg]

    /// Reads the header at the start of `bytes`, which may be the first part of a picture only: see
    /// ``InflightCore/ImageCodec/probe(_:format:isComplete:)``.
    ///
    /// - AVIF, HEIC: up to the end of the box `meta`. Of a sequence its still is told, and that there may be more.
    /// - JPEG XL: some hundred bytes. Of an animation it is told that there may be more frames.
    /// - TIFF: up to the end of the first directory, which may be the end of the file; ``ImageInfo/frameCount`` is the
    ///   count of pages. Of a whole file, where the first page's pixels lie is looked at too.
    /// - SVG: up to the end of the first element's start tag; the size is that which it asks for, in pixels of CSS.
    public static func probe(
        _ bytes: Bytes, format: ImageFormat, isComplete: Bool
    ) throws(LoadError) -> ProbeResult {
        try structure(of: format).probe(bytes, isComplete: isComplete)
    }

    /// What the header of one page of a whole picture says, from 0: of TIFF any, of the others the first. Where that page's
    /// pixels lie is looked at too. The list of pages is followed for as long as it does not lead back to itself, and no
    /// further than 65,536 pages.
    ///
    /// - Throws: ``LoadError/Code/invalidRequest`` for a page that is not there, ``LoadError/Code/damaged`` where the list
    ///   leads back to itself or out of the file before it.
    public static func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        if page != 0 {
            guard format == .tiff else { throw PictureError.noPages(format) }
            return try TIFFStructure.page(page, in: bytes)
        }
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw PictureError.cutShort(format)
        }
        return info
    }

    /// Walks the structure of a whole picture without decoding it: see
    /// ``InflightCore/ImageCodec/validate(_:format:)``. The end of a JPEG XL codestream is only found by decoding it,
    /// which the worker does.
    public static func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try structure(of: format).walk(bytes)
    }

    private static func structure(of format: ImageFormat) throws(LoadError) -> any IsolatedStructure.Type {
        switch format {
        case .avif: return AVIFStructure.self
        case .heic: return HEICStructure.self
        case .jpegXL: return JPEGXLStructure.self
        case .svg: return SVGStructure.self
        case .tiff: return TIFFStructure.self
        default: throw PictureError.unsupported(format, "its header is not known here")
        }
    }
}

/// A file's structure that is walked to its end.
protocol IsolatedStructure: FileStructure {
    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult
    static func walk(_ bytes: Bytes) throws(LoadError)
}

extension HEIFStructure: IsolatedStructure {}
extension JPEGXLStructure: IsolatedStructure {}
extension SVGStructure: IsolatedStructure {}
extension TIFFStructure: IsolatedStructure {}
