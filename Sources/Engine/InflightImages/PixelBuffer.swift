/// Decoded pixels in memory that the buffer owns: allocated, mapped from a file, or shared by another process.
///
/// Copying a buffer copies a reference, never pixels. Rows run from top to bottom, `bytesPerRow` apart. A pixel is four
/// bytes in the order of ``Format``. Colours are sRGB. A buffer is immutable and may be read from any thread.
public struct PixelBuffer: Sendable {
    public struct Format: Hashable, Sendable {
        public enum Order: UInt8, Hashable, Sendable { case rgba, bgra }
        public enum Alpha: UInt8, Hashable, Sendable {
            /// The fourth byte is 255 everywhere.
            case opaque
            /// Colours are not multiplied by alpha.
            case straight
            /// Colours are multiplied by alpha, as compositors expect.
            case premultiplied
        }

        public var order: Order
        public var alpha: Alpha

        public init(order: Order, alpha: Alpha) {
            self.order = order
            self.alpha = alpha
        }

        public static let rgbx = Format(order: .rgba, alpha: .opaque)
        public static let rgba = Format(order: .rgba, alpha: .straight)
        public static let premultipliedBGRA = Format(order: .bgra, alpha: .premultiplied)

        public var bytesPerPixel: Int { 4 }
    }

    public let width: Int
    public let height: Int
    /// At least `width` × 4.
    public let bytesPerRow: Int
    public let format: Format
    /// The memory, at least `bytesPerRow` × (`height` - 1) + `width` × 4 bytes.
    public let bytes: Bytes

    /// Wraps memory that already holds pixels.
    ///
    /// - Precondition: both sides are at least 1 and the memory is at least as large as the layout requires.
    public init(width: Int, height: Int, bytesPerRow: Int, format: Format, bytes: Bytes) {
        precondition(width > 0 && height > 0, "invalid size: \(width) × \(height) pixels")
        let needed = Self.byteCount(width: width, height: height, bytesPerRow: bytesPerRow)
        precondition(needed != nil && needed! <= bytes.count, "the memory is smaller than the layout requires")
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.format = format
        self.bytes = bytes
    }

    /// Allocates memory for `width` × `height` pixels, with no gaps between rows, and calls `fill` to write all of it.
    ///
    /// The memory is not cleared beforehand. `fill` must write every byte, or throw.
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

    /// The memory of the pixels, in bytes: the cost of this buffer in a cache.
    public var byteCount: Int { bytes.count }

    /// Returns the minimum memory of a layout, in bytes, or `nil` if the layout is invalid or the product overflows.
    public static func byteCount(width: Int, height: Int, bytesPerRow: Int) -> Int? {
        guard width > 0, height > 0 else { return nil }
        let row = width.multipliedReportingOverflow(by: 4)
        guard !row.overflow, bytesPerRow >= row.partialValue else { return nil }
        let rows = bytesPerRow.multipliedReportingOverflow(by: height - 1)
        let total = rows.partialValue.addingReportingOverflow(row.partialValue)
        return rows.overflow || total.overflow ? nil : total.partialValue
    }

    /// Calls `body` with the memory, which is valid during the call.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}
