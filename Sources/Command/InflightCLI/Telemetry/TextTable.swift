/// Distinct texts with their numbers. If a text begins like one of the preceding texts, the length of the shared
/// prefix replaces that prefix, because the URLs and files of a run are similar.
struct TextTable {
    /// The maximum length in Unicode scalars. Longer texts are truncated and end with the number of missing characters,
    /// because people read the page.
    static let longest = 2000
    /// The number of preceding texts to compare.
    private static let window = 4

    /// The rest of each text after the shared prefix.
    private var rests: [String] = []
    /// The distance back to the text that shares the prefix.
    private var back = NumberColumn()
    /// The number of shared characters, all of them ASCII.
    private var shared = NumberColumn()
    private var numbers: [String: Int] = [:]
    private var latest: [[UInt8]] = []

    /// Returns the number of a text, or -1 for none.
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
        // The number of bytes is checked first, because it takes constant time.
        guard text.utf8.count > longest, text.unicodeScalars.count > longest else { return text }
        var cut = String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest)))
        cut += "… and \(Quantity.grouped(text.unicodeScalars.count - longest)) more characters"
        return cut
    }
}
