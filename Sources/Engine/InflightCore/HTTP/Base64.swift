/// Base64 (RFC 4648 section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var word = UInt32(bytes[start]) << 16
            if count > 1 { word |= UInt32(bytes[start + 1]) << 8 }
            if count > 2 { word |= UInt32(bytes[start + 2]) }
            for digit in 0..<4 {
                let isPadding = digit > count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(word >> (18 - 6 * UInt32(digit)) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
