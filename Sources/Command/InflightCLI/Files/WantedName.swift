import Inflight

/// The name that a URL wants its file to have.
struct WantedName: Hashable, Sendable {
    /// The most bytes of UTF-8 that a file's name takes, its number and its extension included.
    static let limit = 120

    /// Without extension, safe, never empty; not cut yet.
    let stem: String
    /// As the URL spells it, where it is one of pictures.
    let pictureExtension: String?
    /// What that stands for.
    private let pictureFormat: ImageFormat?
    /// Where it is none of pictures.
    let otherExtension: String?

    /// From the last part of the URL's path, percent-decoded and made safe.
    init(_ url: ResourceURL) {
        if url.scheme == "data" {
            self.init(lastPart: "")
        } else {
            let (path, slash) = (url.path, UInt8(ascii: "/"))
            let start = path.utf8.lastIndex(of: slash).map { path.utf8.index(after: $0) } ?? path.startIndex
            self.init(lastPart: path[start...])
        }
    }

    init(lastPart: Substring) {
        let name = Self.safe(PercentEncoding.decoded(lastPart))
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            self.init(stem: name)
            return
        }
        let ending = String(name[name.utf8.index(after: dot)...])
        if let format = FileExtension.format(of: ending) {
            self.init(stem: String(name[..<dot]), pictureExtension: ending, pictureFormat: format)
        } else if (1...8).contains(ending.utf8.count), ending.utf8.allSatisfy({ Self.isLetterOrDigit($0) }) {
            self.init(stem: String(name[..<dot]), otherExtension: ending)
        } else {
            self.init(stem: name)
        }
    }

    private init(
        stem: String, pictureExtension: String? = nil, pictureFormat: ImageFormat? = nil, otherExtension: String? = nil
    ) {
        // Commands would take a name for an option, or nobody could see it.
        let isPlain = stem.unicodeScalars.first != "-" && stem.unicodeScalars.contains(where: TerminalText.isVisible)
        self.stem = isPlain ? stem : "image" + stem
        self.pictureExtension = pictureExtension
        self.pictureFormat = pictureFormat
        self.otherExtension = otherExtension
    }

    /// The stem of the file's name, which is settled before anything has come.
    func stem(looksAtBytes: Bool) -> String {
        guard looksAtBytes, let otherExtension else { return stem }
        return "\(stem).\(otherExtension)"
    }

    /// What the file's name is made of when a picture of a known format is written: the URL's own spelling of the
    /// extension where that is right, the usual one else. An extension that is none of pictures stays in the stem.
    func parts(for format: ImageFormat) -> NameParts {
        if let pictureExtension, pictureFormat == format {
            return NameParts(stem: stem, fileExtension: pictureExtension)
        }
        return NameParts(stem: stem(looksAtBytes: true), fileExtension: format.fileExtension)
    }

    /// When bytes are written that nobody has looked at: as the URL has it, or else as their media type says.
    func parts(forMediaType mediaType: String?) -> NameParts {
        if let own = pictureExtension ?? otherExtension { return NameParts(stem: stem, fileExtension: own) }
        return NameParts(stem: stem, fileExtension: mediaType.flatMap(FileExtension.of(mediaType:)))
    }

    /// What is to be expected before anything has come: `format` where that is settled.
    func expectedParts(format: ImageFormat?, looksAtBytes: Bool) -> NameParts {
        if let format { return parts(for: format) }
        if !looksAtBytes { return parts(forMediaType: nil) }
        if let pictureFormat { return parts(for: pictureFormat) }
        return NameParts(stem: stem(looksAtBytes: true), fileExtension: nil)
    }

    private static func safe(_ text: String) -> String {
        // Most are letters, digits and marks of ASCII, and begin with none of the marks.
        if let first = text.utf8.first, isLetterOrDigit(first), text.utf8.allSatisfy({ isPlain($0) }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "/" || scalar == "\\" {
                result.append("_")
            } else if !TerminalText.isUnsafe(scalar) {
                result.append(scalar)
            }
        }
        // Scalar by scalar: a dot that bears a mark is another character, and hides a file all the same.
        let name = result.drop { $0 == "." || $0.properties.isWhitespace }
        let end = name.lastIndex { !$0.properties.isWhitespace }.map { name.index(after: $0) } ?? name.startIndex
        return String(name[..<end])
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "\\")
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return (letter >= 0x61 && letter <= 0x7A) || (byte >= 0x30 && byte <= 0x39)
    }
}

/// A file's name before it is numbered.
struct NameParts: Hashable, Sendable {
    var stem: String
    var fileExtension: String?

    /// The whole name, at most ``WantedName/limit`` bytes: `a.jpg` for 1, `a-2.jpg` for 2. It is the stem that is cut,
    /// between characters.
    func name(number: Int) -> String {
        var ending = number > 1 ? "-\(number)" : ""
        if let fileExtension { ending += "." + fileExtension }
        return Self.cut(stem, to: WantedName.limit - ending.utf8.count) + ending
    }

    /// The beginning of a text, at most `limit` bytes of UTF-8, between characters.
    static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var result = ""
        var used = 0
        for character in text {
            used += character.utf8.count
            if used > limit { break }
            result.append(character)
        }
        if !result.isEmpty { return result }
        // One character with that many marks on it: between its scalars, then.
        used = 0
        for scalar in text.unicodeScalars {
            used += scalar.utf8.count
            if used > limit { break }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
