/// Texts, each once, by their numbers.
struct TextTable {
    /// Longer ones are cut, and say by how much: a page is to be read.
    static let longest = 2000

    private(set) var texts: [String] = []
    private var numbers: [String: Int] = [:]

    /// The number of a text; -1 for none.
    mutating func number(_ text: String?) -> Int {
        guard let text else { return -1 }
        if let number = numbers[text] { return number }
        numbers[text] = texts.count
        texts.append(Self.cut(text))
        return texts.count - 1
    }

    static func cut(_ text: String) -> String {
        // Bytes are counted first: they are at hand.
        guard text.utf8.count > longest, text.unicodeScalars.count > longest else { return text }
        var cut = String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest)))
        cut += "… and \(Quantity.grouped(text.unicodeScalars.count - longest)) more characters"
        return cut
    }
}
