internal import CInflightCodecs
import InflightImages

/// The library's decoder, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct PNGReader {
    private let handle: OpaquePointer
    let isInterlaced: Bool
    private let header: inflight_png_header

    static func with(
        _ bytes: Bytes, _ body: (PNGReader) throws(LoadError) -> Void
    ) throws(LoadError) {
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = memory.baseAddress else { throw CodecError.truncated(.png) }
            let handle = unsafe inflight_png_open(base.assumingMemoryBound(to: UInt8.self), memory.count)
            guard let handle = unsafe handle else { throw CodecError.outOfMemory }
            defer { unsafe inflight_png_close(handle) }
            var header = unsafe inflight_png_header()
            try unsafe check(inflight_png_read_header(handle, ICCProfile.maximumCount, &header), handle)
            try body(unsafe PNGReader(handle: handle, header: header))
        }
    }

    private init(handle: OpaquePointer, header: inflight_png_header) {
        unsafe self.handle = unsafe handle
        unsafe self.header = unsafe header
        isInterlaced = unsafe header.is_interlaced != 0
    }

    func readRow(_ row: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        try unsafe Self.check(inflight_png_read_row(handle, row), handle)
    }

    /// Reads a row for display before all passes are read.
    func showRow(_ row: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        try unsafe Self.check(inflight_png_show_row(handle, row), handle)
    }

    func finish() throws(LoadError) {
        try unsafe Self.check(inflight_png_finish(handle), handle)
    }

    /// Returns the transform of the image's colours to sRGB, or nil if none is needed.
    func colorTransform(isGray: Bool) -> ColorTransform? {
        if let profile = unsafe header.profile {
            let bytes = unsafe Bytes(
                copying: UnsafeRawBufferPointer(start: profile, count: header.profile_count))
            return ColorTransform.forProfile(bytes, kind: isGray ? .gray : .rgb)
        }
        let gamma = unsafe header.gamma
        guard unsafe header.is_srgb == 0, gamma > 0.05, gamma < 5 else { return nil }
        var points = unsafe header.chromaticities
        let chromaticities = unsafe withUnsafeBytes(of: &points) { unsafe Array($0.bindMemory(to: Double.self)) }
        let expected = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
        let isKnown = chromaticities.contains { $0 != 0 }
        // Programs that mean sRGB write a gamma of 1 / 2.2 without primaries. If there are primaries, browsers use both
        // values.
        if abs(gamma - 1 / 2.2) < 0.02, !isKnown { return nil }
        return ColorTransform.forPrimaries(isKnown ? chromaticities : expected, gamma: 1 / gamma)
    }

    private static func check(_ status: Int32, _ handle: OpaquePointer) throws(LoadError) {
        if status == 0 { return }
        throw CodecError.damaged(.png, unsafe String(cString: inflight_png_error(handle)))
    }
}
