internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// The library's decoder, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct JPEGReader {
    private let handle: OpaquePointer
    let header: inflight_jpeg_header

    /// Opens a decoder on `bytes`, reads the header, and closes it after `body`.
    ///
    /// - Parameter acceptsEnd: whether data may be missing at the end.
    static func with(
        _ bytes: Bytes, _ cancellation: CancellationFlag, acceptsEnd: Bool = false,
        _ body: (JPEGReader) throws(LoadError) -> Void
    ) throws(LoadError) {
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = memory.baseAddress else { throw CodecError.truncated(.jpeg) }
            // The flag lives as long as this call, and the reader does not outlive it.
            defer { extendLifetime(cancellation) }
            let context = unsafe UnsafeRawPointer(Unmanaged.passUnretained(cancellation).toOpaque())
            let handle = unsafe inflight_jpeg_open(
                base.assumingMemoryBound(to: UInt8.self), memory.count,
                { context in
                    guard let context = unsafe context else { return 0 }
                    let flag = unsafe Unmanaged<CancellationFlag>.fromOpaque(context).takeUnretainedValue()
                    return flag.isCancelled ? 1 : 0
                }, context)
            guard let handle = unsafe handle else { throw CodecError.outOfMemory }
            defer { unsafe inflight_jpeg_close(handle) }
            if acceptsEnd { unsafe inflight_jpeg_accept_end(handle) }
            var header = inflight_jpeg_header()
            try unsafe check(inflight_jpeg_read_header(handle, &header), handle)
            try body(unsafe JPEGReader(handle: handle, header: header))
        }
    }

    private init(handle: OpaquePointer, header: inflight_jpeg_header) {
        unsafe self.handle = unsafe handle
        self.header = header
    }

    struct Planes {
        var width: Int
        var height: Int
        var planes: [inflight_jpeg_plane]
    }

    func startPlanes(denominator: Int) throws(LoadError) -> Planes {
        var width: Int32 = 0
        var height: Int32 = 0
        var planes = [inflight_jpeg_plane](repeating: .init(), count: 4)
        try unsafe Self.check(
            inflight_jpeg_start_planes(handle, Int32(denominator), &width, &height, &planes), handle)
        planes.removeLast(4 - Int(header.component_count))
        return Planes(width: Int(width), height: Int(height), planes: planes)
    }

    /// Reads the next band. Returns whether more bands follow.
    func readPlanes(_ bands: UnsafePointer<UnsafeMutablePointer<UInt8>?>) throws(LoadError) -> Bool {
        var hasMore: Int32 = 0
        try unsafe Self.check(inflight_jpeg_read_planes(handle, bands, &hasMore), handle)
        return hasMore != 0
    }

    /// - Returns: the size, divided by 1, 2, 4 or 8.
    @discardableResult
    func startRows(denominator: Int = 1) throws(LoadError) -> (width: Int, height: Int) {
        var width: Int32 = 0
        var height: Int32 = 0
        try unsafe Self.check(inflight_jpeg_start_rows(handle, Int32(denominator), &width, &height), handle)
        return (Int(width), Int(height))
    }

    /// The number of the scan that was read last, from 1.
    var scanNumber: Int { unsafe Int(inflight_jpeg_scan_number(handle)) }

    func readRows(_ rows: UnsafeMutablePointer<UInt8>, bytesPerRow: Int, count: Int) throws(LoadError) {
        try unsafe Self.check(inflight_jpeg_read_rows(handle, rows, bytesPerRow, Int32(count)), handle)
    }

    func finish() throws(LoadError) {
        try unsafe Self.check(inflight_jpeg_finish(handle), handle)
    }

    private static func check(_ status: Int32, _ handle: OpaquePointer) throws(LoadError) {
        switch status {
        case 0: return
        case 2: throw CodecError.cancelled
        case 3: throw CodecError.outOfMemory
        default:
            if unsafe inflight_jpeg_lacks_data(handle) != 0 { throw CodecError.truncated(.jpeg) }
            let text = unsafe String(cString: inflight_jpeg_error(handle))
            switch unsafe Int(inflight_jpeg_damage(handle)) {
            case INFLIGHT_JPEG_DATA: throw CodecError.damaged(.jpeg, "invalid compressed data", libraryText: text)
            case INFLIGHT_JPEG_SCANS: throw CodecError.damaged(.jpeg, "more than \(JPEGStructure.maximumScans) scans")
            default: throw CodecError.damaged(.jpeg, "invalid segment", libraryText: text)
            }
        }
    }
}
