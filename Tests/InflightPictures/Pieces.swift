/// Parts of files, assembled by the tests.
package enum Pieces {
    package static func big16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
    package static func big32(_ value: Int) -> [UInt8] { big16(value >> 16) + big16(value) }
    package static func little16(_ value: Int) -> [UInt8] { big16(value).reversed() }
    package static func little32(_ value: Int) -> [UInt8] { big32(value).reversed() }

    /// EXIF metadata with only an orientation.
    package static func exif(orientation: Int, little: Bool = false, type: Int = 3) -> [UInt8] {
        let n16 = little ? little16 : big16
        let n32 = little ? little32 : big32
        let value =
            switch type {
            case 1, 6: [UInt8(orientation), 0, 0, 0]
            case 4, 9: n32(orientation)
            default: n16(orientation) + n16(0)
            }
        return Array((little ? "II" : "MM").utf8) + n16(42) + n32(8) + n16(1) + n16(0x0112) + n16(type) + n32(1)
            + value + n32(0)
    }

    /// A JPEG file with one more segment after its first marker.
    package static func jpeg(_ file: [UInt8], adding marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        Array(file[..<2]) + [0xFF, marker] + big16(content.count + 2) + content + file[2...]
    }

    package static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        return big32(content.count) + body + big32(Int(crc(body)))
    }

    /// A PNG file with one more chunk after its header.
    package static func png(_ file: [UInt8], adding chunk: [UInt8]) -> [UInt8] {
        Array(file[..<33]) + chunk + file[33...]
    }

    /// A WebP file of these chunks.
    package static func webP(_ chunks: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little32(chunks.count + 4) + Array("WEBP".utf8) + chunks
    }

    /// The `VP8X` chunk, which gives the size of the canvas.
    package static func webPCanvas(width: Int, height: Int, flags: UInt8) -> [UInt8] {
        Array("VP8X".utf8) + little32(10) + [flags, 0, 0, 0] + little32(width - 1)[..<3] + little32(height - 1)[..<3]
    }

    /// The PNG checksum (annex D), bit by bit.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
    }
}
