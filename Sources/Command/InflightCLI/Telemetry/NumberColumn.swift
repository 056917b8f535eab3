/// Whole numbers as text that is short and fast to read: of a number its bits but the lowest, which is its sign, are written
/// in groups of five, the least first; a sixth bit says that more follow; each group is a digit of base 64 (as RFC 4648
/// section 5 has them). Source maps are written in the same way.
struct NumberColumn {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private(set) var bytes: [UInt8] = []
    private var last = 0

    /// - Precondition: at most 52 bits, which is what the reader's numbers hold.
    mutating func append(_ number: Int) {
        var rest = number < 0 ? UInt(bitPattern: -(number + 1)) << 1 | 1 : UInt(bitPattern: number) << 1
        repeat {
            let group = Int(rest & 31)
            rest >>= 5
            bytes.append(Self.digits[rest == 0 ? group : group | 32])
        } while rest != 0
    }

    /// What it is more than the one before: for a column of which all are written so.
    mutating func append(difference number: Int) {
        append(number - last)
        last = number
    }
}
