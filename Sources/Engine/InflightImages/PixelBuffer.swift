/// Decoded pixels in memory that the buffer owns: allocated, mapped from a file, or shared by another process.
///
/// Copying a buffer copies a reference, never pixels. Rows run from top to bottom, `bytesPerRow` apart. A pixel is four
/// bytes in the order of ``Format``. Colours are sRGB. A buffer is immutable and may be read from any thread.
public struct PixelBuffer: Sendable {
    /// The byte order of a pixel, and the meaning of its fourth byte.
    public struct Format: Hashable, Sendable {
        /// The order of a pixel's bytes in memory.
        public enum Order: UInt8, Hashable, Sendable {
            /// Red, green, blue, alpha.
            case rgba
            /// Blue, green, red, alpha.
            case bgra
        }

        /// The relation between the colours and the alpha of a pixel.
        public enum Alpha: UInt8, Hashable, Sendable {
            /// The fourth byte is 255 everywhere.
            case opaque
            /// Colours are not multiplied by alpha.
            case straight
            /// Colours are multiplied by alpha, as compositors expect.
            case premultiplied
        }

        /// The order of a pixel's bytes.
        public var order: Order
        /// The kind of alpha in the fourth byte.
        public var alpha: Alpha

        /// Creates a format.
        public init(order: Order, alpha: Alpha) {
            self.order = order
            self.alpha = alpha
        }

        /// Red, green, blue, and a fourth byte that is always 255.
        public static let rgbx = Format(order: .rgba, alpha: .opaque)
        /// Red, green, blue and straight alpha.
        public static let rgba = Format(order: .rgba, alpha: .straight)
        /// Blue, green, red and premultiplied alpha, as in `GDK_MEMORY_B8G8R8A8_PREMULTIPLIED`.
        public static let premultipliedBGRA = Format(order: .bgra, alpha: .premultiplied)

        /// The size of a pixel in bytes, which is 4 for every format.
        public var bytesPerPixel: Int { 4 }
    }

    /// The width in pixels, at least 1.
    public let width: Int
    /// The height in pixels, at least 1.
    public let height: Int
    /// The distance from the start of one row to that of the next in bytes, at least `width` × 4.
    public let bytesPerRow: Int
    /// The byte order and the kind of alpha.
    public let format: Format
    /// The memory, at least `bytesPerRow` × (`height` - 1) + `width` × 4 bytes. Gaps between rows have any contents.
    public let bytes: Bytes

    /// Creates a buffer from memory that already holds pixels, without copying them.
    ///
    /// - Parameters:
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - bytesPerRow: the distance from the start of one row to that of the next in bytes. If nil, there are no
    ///     gaps between rows.
    ///   - format: the format of the pixels. Their values are not checked against its alpha.
    ///   - bytes: the memory, whose lifetime the buffer shares.
    /// - Precondition: both sides are at least 1, rows do not overlap, and the memory is at least as large as the
    ///   layout requires.
    public init(width: Int, height: Int, bytesPerRow: Int? = nil, format: Format, bytes: Bytes) {
        precondition(width > 0 && height > 0, "invalid size: \(width) × \(height) pixels")
        let bytesPerRow = bytesPerRow ?? width * format.bytesPerPixel
        let needed = Self.byteCount(width: width, height: height, bytesPerRow: bytesPerRow)
        precondition(needed != nil && needed! <= bytes.count, "the memory is smaller than the layout requires")
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.format = format
        self.bytes = bytes
    }

    /// Creates a buffer with no gaps between rows, and calls `fill` to write its pixels.
    ///
    /// Traps if the system cannot provide the memory.
    ///
    /// - Parameters:
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - format: the format of the pixels that `fill` writes.
    ///   - fill: called once, with memory that is valid during the call and not cleared beforehand. It must write every
    ///     byte, or throw.
    /// - Throws: the error that `fill` throws.
    /// - Precondition: both sides are at least 1.
    public init<Failure: Error>(
        width: Int, height: Int, format: Format,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let bytesPerRow = width * format.bytesPerPixel
        guard width > 0, height > 0,
            let count = Self.byteCount(width: width, height: height, bytesPerRow: bytesPerRow)
        else { preconditionFailure("invalid size: \(width) × \(height) pixels") }
        guard let memory = try? PixelMemory(width: width, height: height, bytesPerPixel: format.bytesPerPixel) else {
            fatalError("out of memory for \(width) × \(height) pixels (\(count) bytes)")
        }
        try unsafe fill(memory.bytes)
        self.init(width: width, height: height, bytesPerRow: bytesPerRow, format: format, bytes: memory.shared)
    }

    /// The size of ``bytes``, with gaps between rows: the cost of this buffer in a cache.
    public var byteCount: Int { bytes.count }

    /// Returns the minimum memory of a layout, in bytes.
    ///
    /// - Parameters:
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - bytesPerRow: the distance from the start of one row to that of the next in bytes.
    /// - Returns: `nil` if a side is less than 1, if rows overlap, or if the result exceeds the range of `Int`.
    public static func byteCount(width: Int, height: Int, bytesPerRow: Int) -> Int? {
        guard width > 0, height > 0 else { return nil }
        let row = width.multipliedReportingOverflow(by: 4)
        guard !row.overflow, bytesPerRow >= row.partialValue else { return nil }
        let rows = bytesPerRow.multipliedReportingOverflow(by: height - 1)
        let total = rows.partialValue.addingReportingOverflow(row.partialValue)
        return rows.overflow || total.overflow ? nil : total.partialValue
    }

    /// Calls `body` with the memory of ``bytes``, which is valid only during the call, and returns its result.
    ///
    /// The row `y` begins at `y` × ``bytesPerRow``.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}
