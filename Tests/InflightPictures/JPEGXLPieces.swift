/// A JPEG XL codestream, whose header is written here, field by field (ISO/IEC 18181-1, annexes C and D).
package struct JPEGXLPieces {
    package enum Channel {
        case alpha
        /// Temperature, which is not shown. The name has 48 to 1,071 bytes.
        case thermal(nameLength: Int)
    }

    package var width = 16
    package var height = 8
    package var bits = 8
    package var channels: [Channel] = []
    package var isXYB = true
    /// The frame with its header.
    package var frame: [UInt8] = []

    package init() {}

    /// The start of the header of a single frame of transformed colours.
    package static let transformedFrame: [UInt8] = [1]
    /// The same for a frame of integer channels: not all defaults, a regular frame, integers, no flags, no upsampling,
    /// groups of 256 pixels, one pass, the whole image, replacing, the last one.
    package static func integerFrame(channelCount: Int) -> [UInt8] {
        var bits = Bits()
        bits.add(0, 1)
        bits.add(0, 2)
        bits.add(1, 1)
        bits.add(0, 2)
        bits.add(0, 2 + 2 * channelCount)
        bits.add(1, 2)
        bits.add(0, 2)
        bits.add(0, 1)
        bits.add(0, 2 + 2 * channelCount)
        bits.add(1, 1)
        bits.add(0, 64)
        return bits.bytes
    }

    /// 64 thermal channels of zero behind the colours of ``Scene``, 16 × 8 pixels, not transformed. A small program
    /// with the encoder of libjxl 0.7 wrote it, lossless.
    package static let thermalFrame = Base64.bytes(
        """
        CAAAAAAAAAAAAAAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAEAtAFLKDWWXiocSkJBSQCMQSFJumOlhWqMwSqMjkGO1bWFCCAAENFDaABg8U1q+qJu
        8CjdnnXQi3ky+R9PhAQkcLUMcu7YUBC8FBb74U6QTgGDdqx+0/8H+P8AAG4EOERGEYGTgkDhQIRSEkhTKYCQ
        """)

    package var file: [UInt8] {
        var bits = Bits()
        bits.add(0, 1)
        for (index, side) in [height, width].enumerated() {
            bits.add(3, 2)
            bits.add(side - 1, 30)
            if index == 0 { bits.add(0, 3) }
        }
        // Not all defaults; no extra fields.
        bits.add(0, 2)
        addDepth(&bits)
        bits.add(1, 1)
        bits.add(channels.isEmpty ? 0 : 3, 2)
        if !channels.isEmpty { bits.add(channels.count - 1, 12) }
        for channel in channels {
            switch channel {
            case .alpha: bits.add(1, 1)
            case .thermal(let nameLength):
                bits.add(0, 1)
                bits.add(2, 2)
                bits.add(6 - 2, 4)
                addDepth(&bits)
                bits.add(0, 2)
                bits.add(3, 2)
                bits.add(nameLength - 48, 10)
                for _ in 0..<nameLength { bits.add(0x61, 8) }
            }
        }
        bits.add(isXYB ? 1 : 0, 1)
        // The colours of sRGB, no extensions, the default transform.
        bits.add(1, 1)
        bits.add(0, 2)
        bits.add(1, 1)
        return [0xFF, 0x0A] + bits.bytes + frame
    }

    private func addDepth(_ bits: inout Bits) {
        bits.add(0, 1)
        bits.add(3, 2)
        bits.add(self.bits - 1, 6)
    }

    /// Fields of bits, lowest first.
    private struct Bits {
        private var list: [Bool] = []

        mutating func add(_ value: Int, _ count: Int) {
            for bit in 0..<count { list.append(bit < 63 && value >> bit & 1 == 1) }
        }

        var bytes: [UInt8] {
            stride(from: 0, to: list.count, by: 8).map { start in
                (start..<min(start + 8, list.count)).reduce(0) { $0 | (list[$1] ? 1 << UInt8($1 - start) : 0) }
            }
        }
    }
}
