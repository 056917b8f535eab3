import InflightCodecs
import InflightCore

/// Returns the header information of a complete file in an isolated format.
func isolatedInfo(_ bytes: [UInt8], _ format: ImageFormat) throws(LoadError) -> ImageInfo {
    guard case .info(let info) = try IsolatedFormats.probe(Bytes(bytes), format: format, isComplete: true) else {
        throw LoadError(.damaged, stage: .decode, message: "more bytes are wanted of a whole file")
    }
    return info
}

func isolatedCode(_ bytes: [UInt8], _ format: ImageFormat) -> LoadError.Code? {
    do throws(LoadError) {
        _ = try isolatedInfo(bytes, format)
        return nil
    } catch {
        return error.code
    }
}

func isolatedDamage(_ bytes: [UInt8], _ format: ImageFormat) -> LoadError.Code? {
    do throws(LoadError) {
        try IsolatedFormats.validate(Bytes(bytes), format: format)
        return nil
    } catch {
        return error.code
    }
}
