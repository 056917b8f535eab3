import InflightConcurrency
import InflightImages

/// One frame of a GIF: its rectangle, its colours, and its rows, which are decompressed one after another (GIF89a,
/// sections 20 to 23 and appendix F). Confined to one call.
// Safe: the memory of the tables is accessed only at codes below 4096, and the stack holds a string of as many.
@safe final class GIFReader {
    let left: Int
    let top: Int
    let width: Int
    let height: Int
    let isInterlaced: Bool
    /// The red, green, blue and alpha of each index. Colours that the file does not define are black.
    let colors: [SIMD4<UInt8>]

    private let bytes: Bytes
    /// The next byte of the data, and the end of its sub-block.
    private var position: Int
    private var blockEnd: Int
    private var bits: UInt32 = 0
    private var bitCount = 0

    private static let maximumCodeWidth = 12
    /// The code that empties the table. The next one ends the data.
    private let clear: Int
    private var codeWidth: Int
    /// The next free code, and the one read last.
    private var next: Int
    private var last: Int?
    /// The string of a code is that of its prefix and one more index.
    private let prefixes: UnsafeMutablePointer<UInt16>
    private let suffixes: UnsafeMutablePointer<UInt8>
    /// The rest of the string of the last code, from its end.
    private let stack: UnsafeMutablePointer<UInt8>
    private var stackCount = 0

    /// - Parameter place: the blocks of the frame in `bytes`, which may end in its data.
    init(_ bytes: Bytes, _ place: GIFStructure.Place) throws(LoadError) {
        let start = place.descriptor
        guard let left = bytes.little16(at: start + 1), let top = bytes.little16(at: start + 3),
            let width = bytes.little16(at: start + 5), let height = bytes.little16(at: start + 7),
            let flags = bytes.byte(at: start + 9)
        else { throw CodecError.truncated(.gif) }
        (self.left, self.top, self.width, self.height) = (left, top, width, height)
        isInterlaced = flags & 0x40 != 0
        let data = start + 10 + GIFStructure.tableSize(UInt8(flags))
        let table =
            flags & 0x80 != 0
            ? start + 10..<data : 13..<13 + GIFStructure.tableSize(bytes[GIFStructure.globalFlags])
        guard let size = bytes.byte(at: data) else { throw CodecError.truncated(.gif) }
        guard (1..<Self.maximumCodeWidth).contains(size) else {
            throw CodecError.damaged(.gif, "codes of \(size) bits")
        }
        let transparent = GIFStructure.transparentIndex(bytes, control: place.control)
        colors = (0..<256).map { index in
            let place = table.lowerBound + 3 * index
            if index == transparent { return .zero }
            guard place < table.upperBound else { return SIMD4(0, 0, 0, 255) }
            return SIMD4(bytes[place], bytes[place + 1], bytes[place + 2], 255)
        }
        self.bytes = bytes
        position = data + 1
        blockEnd = position
        clear = 1 << size
        codeWidth = size + 1
        next = clear + 2
        let count = 1 << Self.maximumCodeWidth
        unsafe prefixes = .allocate(capacity: count)
        unsafe suffixes = .allocate(capacity: count)
        unsafe stack = .allocate(capacity: count)
    }

    deinit {
        unsafe prefixes.deallocate()
        unsafe suffixes.deallocate()
        unsafe stack.deallocate()
    }

    /// The first row of each pass of an interlaced frame, and the distance between its rows (GIF89a, appendix E).
    private static let passes: [(first: Int, step: Int)] = [(0, 8), (4, 8), (2, 4), (1, 2)]

    /// Calls `body` with the number of each row, in the order of the file.
    func eachRow(
        _ cancellation: CancellationFlag, _ body: (Int) throws(LoadError) -> Void
    ) throws(LoadError) {
        let band = CancellationFlag.band(width: width)
        var count = 0
        for (first, step) in isInterlaced ? Self.passes : [(0, 1)] {
            for y in stride(from: first, to: height, by: step) {
                if count % band == 0 { try cancellation.check() }
                count += 1
                try body(y)
            }
        }
    }

    /// Reads the indices of the next row, in the order of the file.
    func readRow(_ indices: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        var count = 0
        while count < width {
            if stackCount == 0 { try readString() }
            let taken = min(stackCount, width - count)
            for offset in 0..<taken { unsafe indices[count &+ offset] = stack[stackCount &- 1 &- offset] }
            stackCount -= taken
            count += taken
        }
    }

    /// Reads codes up to the next one that stands for indices, and puts these on the empty stack.
    private func readString() throws(LoadError) {
        var code = try readCode()
        while code == clear {
            (codeWidth, next, last) = (clear.trailingZeroBitCount + 1, clear + 2, nil)
            code = try readCode()
        }
        if code == clear + 1 { throw CodecError.damaged(.gif, "the pixels end too early") }
        guard code < clear || last != nil && code <= next else { throw CodecError.damaged(.gif, "invalid code") }
        var rest = code
        if let last, code == next {
            // The string of the last code and its own first index, which is found below.
            stackCount = 1
            rest = last
        }
        while rest > clear {
            unsafe stack[stackCount] = suffixes[rest]
            stackCount += 1
            rest = unsafe Int(prefixes[rest])
        }
        let first = UInt8(truncatingIfNeeded: rest)
        unsafe stack[stackCount] = first
        stackCount += 1
        if code == next { unsafe stack[0] = first }
        if let last, next < 1 << Self.maximumCodeWidth {
            unsafe prefixes[next] = UInt16(last)
            unsafe suffixes[next] = first
            next += 1
            if next == 1 << codeWidth, codeWidth < Self.maximumCodeWidth { codeWidth += 1 }
        }
        last = code
    }

    private func readCode() throws(LoadError) -> Int {
        while bitCount < codeWidth {
            if position == blockEnd {
                guard let count = bytes.byte(at: position) else { throw CodecError.truncated(.gif) }
                guard count > 0 else { throw CodecError.damaged(.gif, "the pixels end too early") }
                position += 1
                blockEnd = position + count
            }
            guard let byte = bytes.byte(at: position) else { throw CodecError.truncated(.gif) }
            bits |= UInt32(byte) << bitCount
            bitCount += 8
            position += 1
        }
        let code = Int(bits & (1 << codeWidth - 1))
        bits >>= codeWidth
        bitCount -= codeWidth
        return code
    }
}
