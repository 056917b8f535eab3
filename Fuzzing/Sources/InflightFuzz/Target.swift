import Glibc
import InflightCore

/// A parser of untrusted input, and the properties that must hold for every input.
struct Target: Sendable {
    /// The target's name. Its seeds are in `Seeds/NAME.txt`.
    var name: String
    var run: @Sendable ([UInt8]) -> Void

    static let all: [Target] = [
        .head, .cacheControl, .date, .ranges, .retryAfter, .vary, .cookies, .cookieFile, .decision, .record, .dataURL,
        .coding("gzip"), .coding("deflate"), .coding("br"), .coding("zstd"), .contentCodings,
        .picture(.jpeg), .picture(.png), .picture(.webp), .picture(.gif), .picture(.bmp), .picture(.ico), .placeholder,
        .header("avif"), .header("heic"), .header("jxl"), .header("tiff"), .header("svg"), .jsonArray, .codedColor,
        .propertyLists,
    ]

    static let chosen: Target? = {
        guard let name = unsafe getenv("INFLIGHT_FUZZ") else { return nil }
        let wanted = unsafe String(cString: name)
        return all.first { $0.name == wanted }
    }()
}

extension [UInt8] {
    /// The lines, without LF or CR LF.
    var lines: [ArraySlice<UInt8>] {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
    }
}
