import InflightImages

/// Writes a frame of an animated PNG as a separate PNG: the header with the frame's size, the chunks that determine the
/// meaning of the pixels, and the frame's data as `IDAT`.
struct PNGFrameRewriter {
    private let bytes: Bytes
    private let copied: [Range<Int>]

    /// - Parameter copied: the complete chunks before the pixels to copy, in order.
    init(_ bytes: Bytes, copied: [Range<Int>]) {
        self.bytes = bytes
        self.copied = copied
    }

    static func isCopied(_ bytes: Bytes, at position: Int) -> Bool {
        let names: [StaticString] = ["PLTE", "tRNS", "gAMA", "cHRM", "iCCP", "sRGB", "cICP"]
        return names.contains { bytes.has($0, at: position + 4) }
    }

    /// - Parameter data: complete chunks, including the frame's.
    /// - Throws: ``LoadError/Code/damaged`` if a checksum that is not copied is incorrect.
    func file(width: Int, height: Int, data: Range<Int>) throws(LoadError) -> Bytes {
        let copiedCount = copied.reduce(0) { $0 + $1.count }
        var file: [UInt8] = []
        // The signature, the header, the end chunk, and the data, which does not grow.
        file.reserveCapacity(8 + 25 + copiedCount + data.count + 12)
        append(0..<8, to: &file)
        Self.chunk(in: &file) { file in
            append(12..<29, to: &file)
            file.replaceSubrange(file.count - 13..<file.count - 5, with: Self.big32(width) + Self.big32(height))
        }
        for range in copied { append(range, to: &file) }
        var position = data.lowerBound
        while position < data.upperBound, let length = bytes.big32(at: position) {
            let end = position + 12 + length
            if bytes.has("IDAT", at: position + 4) {
                append(position..<end, to: &file)
            } else if bytes.has("fdAT", at: position + 4) {
                guard length >= 4, PNGStructure.isIntact(bytes, position + 8..<end - 4) else {
                    throw CodecError.damaged(.png, "checksum mismatch")
                }
                Self.chunk(in: &file) { file in
                    file += Array("IDAT".utf8)
                    append(position + 12..<end - 4, to: &file)
                }
            }
            position = end
        }
        Self.chunk(in: &file) { $0 += Array("IEND".utf8) }
        return Bytes(file)
    }

    private func append(_ range: Range<Int>, to file: inout [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe file.append(contentsOf: $0[range]) }
    }

    /// Appends a chunk whose name and content `fill` appends.
    static func chunk(in file: inout [UInt8], _ fill: (inout [UInt8]) -> Void) {
        let start = file.count
        file += [0, 0, 0, 0]
        fill(&file)
        file.replaceSubrange(start..<start + 4, with: big32(file.count - start - 8))
        let sum = unsafe file.withUnsafeBytes { memory in
            unsafe PNGStructure.checksum(UnsafeRawBufferPointer(rebasing: memory[(start + 4)...]))
        }
        file += big32(sum)
    }

    private static func big32(_ value: Int) -> [UInt8] {
        [UInt8(value >> 24 & 0xFF), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }
}
