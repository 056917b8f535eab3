/// Whole numbers as text that is short and fast to read. The lowest bit of each holds the sign. The bits are written in
/// groups of five, the least significant first; a sixth bit indicates that more follow. Each group is a base64 digit
/// (RFC 4648 section 5). The encoding resembles that of source maps.
struct NumberColumn {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private(set) var bytes: [UInt8] = []
    private var last = 0

    /// - Precondition: At most 52 bits, which is the capacity of the reader's numbers.
    mutating func append(_ number: Int) {
        var rest = number < 0 ? UInt(bitPattern: -(number + 1)) << 1 | 1 : UInt(bitPattern: number) << 1
        repeat {
            let group = Int(rest & 31)
            rest >>= 5
            bytes.append(Self.digits[rest == 0 ? group : group | 32])
        } while rest != 0
    }

    /// Appends the difference from the previous number. Use it for all numbers of a column, or for none.
    mutating func append(difference number: Int) {
        append(number - last)
        last = number
    }
}
