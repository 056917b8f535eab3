import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightVips
import Testing

/// Returns the header information of a complete image file.
func info(_ bytes: [UInt8]) throws -> ImageInfo {
    let bytes = Bytes(bytes)
    let format = try #require(ImageFormat.detect(bytes))
    guard case .info(let info) = try IsolatedFormats.probe(bytes, format: format, isComplete: true) else {
        throw LoadError(.damaged, stage: .decode, message: "more bytes are wanted of a whole picture")
    }
    return info
}

func validate(_ bytes: [UInt8]) throws {
    let bytes = Bytes(bytes)
    try IsolatedFormats.validate(bytes, format: try #require(ImageFormat.detect(bytes)))
}

/// Decodes in this process. Production code decodes the same formats in a sandboxed decoder process.
func decode(
    _ bytes: [UInt8], _ options: DecodeOptions = DecodeOptions(), cancellation: CancellationFlag = CancellationFlag()
) throws -> PixelBuffer {
    let info = try info(bytes)
    return try VipsDecoder().decode(
        Bytes(bytes), format: info.format, info: info, options: options, cancellation: cancellation)
}

func code(_ body: () throws -> Void) -> LoadError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? LoadError)?.code
    }
}
