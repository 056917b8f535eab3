/// Pieces of files, put together by the tests.
package enum Pieces {
    package static func big16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
    package static func big32(_ value: Int) -> [UInt8] { big16(value >> 16) + big16(value) }
    package static func little16(_ value: Int) -> [UInt8] { big16(value).reversed() }
    package static func little32(_ value: Int) -> [UInt8] { big32(value).reversed() }

    /// EXIF metadata with nothing but an orientation.
    package static func exif(orientation: Int, little: Bool = false) -> [UInt8] {
        let n16 = little ? little16 : big16
        let n32 = little ? little32 : big32
        return Array((little ? "II" : "MM").utf8) + n16(42) + n32(8) + n16(1) + n16(0x0112) + n16(3) + n32(1)
            + n16(orientation) + n16(0) + n32(0)
    }

    /// A JPEG file with one more segment behind its first marker.
    package static func jpeg(_ file: [UInt8], adding marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        Array(file[..<2]) + [0xFF, marker] + big16(content.count + 2) + content + file[2...]
    }

    package static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        return big32(content.count) + body + big32(Int(crc(body)))
    }

    /// A PNG file with one more chunk behind its header.
    package static func png(_ file: [UInt8], adding chunk: [UInt8]) -> [UInt8] {
        Array(file[..<33]) + chunk + file[33...]
    }

    /// A WebP file of these chunks.
    package static func webP(_ chunks: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little32(chunks.count + 4) + Array("WEBP".utf8) + chunks
    }

    /// The chunk `VP8X`, which tells the size of the canvas.
    package static func webPCanvas(width: Int, height: Int, flags: UInt8) -> [UInt8] {
        Array("VP8X".utf8) + little32(10) + [flags, 0, 0, 0] + little32(width - 1)[..<3] + little32(height - 1)[..<3]
    }

    /// The checksum of PNG (annex D), bit by bit.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
    }

    /// A colour profile of sRGB's primaries, but in the order that `order` says, and with `gamma` for its curves.
    package static func profile(order: [Int], gamma: Double, name: String) -> [UInt8] {
        let primaries = [(0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141)]
        func fixed(_ value: Double) -> [UInt8] { big32(Int((value * 65536).rounded())) }
        func xyz(_ value: (Double, Double, Double)) -> [UInt8] {
            Array("XYZ ".utf8) + big32(0) + fixed(value.0) + fixed(value.1) + fixed(value.2)
        }
        let curve = Array("curv".utf8) + big32(0) + big32(1) + big16(Int((gamma * 256).rounded())) + [0, 0]
        let text = Array(name.utf8) + [0]
        var description = Array("desc".utf8) + big32(0) + big32(text.count) + text
        description += [UInt8](repeating: 0, count: 78 + 3 - (description.count + 77) % 4)
        let tags: [(String, [UInt8])] = [
            ("desc", description), ("wtpt", xyz((0.9642, 1, 0.8249))), ("rXYZ", xyz(primaries[order[0]])),
            ("gXYZ", xyz(primaries[order[1]])), ("bXYZ", xyz(primaries[order[2]])), ("rTRC", curve), ("gTRC", curve),
            ("bTRC", curve),
        ]
        var table = big32(tags.count)
        var data: [UInt8] = []
        for (name, content) in tags {
            table += Array(name.utf8) + big32(132 + 12 * tags.count + data.count) + big32(content.count)
            data += content
        }
        var header = big32(128 + table.count + data.count) + big32(0) + [2, 0x40, 0, 0]
        header += Array("mntrRGB XYZ ".utf8) + [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
        header += [UInt8](repeating: 0, count: 28) + fixed(0.9642) + fixed(1) + fixed(0.8249)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + data
    }
}
