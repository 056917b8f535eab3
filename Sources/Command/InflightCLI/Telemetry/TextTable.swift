/// Texts, each once, by their numbers. Of what a text begins with as one of those before it did only the length is written:
/// the URLs and files of a run are much alike.
struct TextTable {
    /// Longer ones are cut, and say by how much: a page is to be read.
    static let longest = 2000
    /// How many of those before are looked at.
    private static let window = 4

    /// What is left of each behind the part that it shares.
    private var rests: [String] = []
    /// How far before it the one stands that it shares its beginning with.
    private var back = NumberColumn()
    /// How many of its characters those are, all of ASCII.
    private var shared = NumberColumn()
    private var numbers: [String: Int] = [:]
    private var latest: [[UInt8]] = []

    /// The number of a text; -1 for none.
    mutating func number(_ text: String?) -> Int {
        guard let text else { return -1 }
        if let number = numbers[text] { return number }
        numbers[text] = rests.count
        append(Array(Self.cut(text).utf8))
        return rests.count - 1
    }

    private mutating func append(_ bytes: [UInt8]) {
        var (best, most) = (0, 0)
        for (distance, other) in latest.reversed().enumerated() {
            var count = 0
            while count < bytes.count, count < other.count, bytes[count] == other[count], bytes[count] < 0x80 {
                count += 1
            }
            if count > most { (best, most) = (distance + 1, count) }
        }
        back.append(best)
        shared.append(most)
        rests.append(String(decoding: bytes[most...], as: UTF8.self))
        latest.append(bytes)
        if latest.count > Self.window { latest.removeFirst() }
    }

    func add(to writer: inout JSONWriter) {
        writer.add("back", plain: back.bytes)
        writer.add("shared", plain: shared.bytes)
        writer.add("rests", rests)
    }

    static func cut(_ text: String) -> String {
        // Bytes are counted first: they are at hand.
        guard text.utf8.count > longest, text.unicodeScalars.count > longest else { return text }
        var cut = String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest)))
        cut += "… and \(Quantity.grouped(text.unicodeScalars.count - longest)) more characters"
        return cut
    }
}
