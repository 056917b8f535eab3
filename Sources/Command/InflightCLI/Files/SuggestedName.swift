import Inflight
import InflightCore

/// The file name that a URL suggests, or that the user chose.
struct SuggestedName: Hashable, Sendable {
    /// The maximum length of a file name in bytes of UTF-8, including its number and its extension.
    static let limit = 120

    /// The stem: without extension, safe, never empty, not truncated yet.
    let stem: String
    /// The extension as spelled in the URL, if it belongs to an image format.
    let pictureExtension: String?
    /// The image format of that extension.
    private let pictureFormat: ImageFormat?
    /// The extension, if it does not belong to an image format.
    let otherExtension: String?
    /// The name that the user chose, if any. The image's format does not change it.
    private let chosen: NameParts?

    /// The name that the user chose, if any.
    var chosenName: String? { chosen?.name(number: 1) }

    /// Creates a name from the last component of the URL's path, percent-decoded and made safe.
    init(_ url: ResourceURL) {
        if url.scheme == "data" {
            self.init(lastPart: "")
        } else {
            let (path, slash) = (url.path, UInt8(ascii: "/"))
            let start = path.utf8.lastIndex(of: slash).map { path.utf8.index(after: $0) } ?? path.startIndex
            self.init(lastPart: path[start...])
        }
    }

    /// Creates a name that the user chose, which is used unchanged.
    init(chosen: String) {
        let dot = chosen.utf8.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 == chosen.startIndex ? nil : $0 }
        stem = String(chosen[..<(dot ?? chosen.endIndex)])
        self.chosen = NameParts(stem: stem, fileExtension: dot.map { String(chosen[chosen.utf8.index(after: $0)...]) })
        (pictureExtension, pictureFormat, otherExtension) = (nil, nil, nil)
    }

    init(lastPart: Substring) {
        let isEncoded = lastPart.utf8.contains(UInt8(ascii: "%"))
        let name = Self.safe(isEncoded ? PercentEncoding.decoded(lastPart) : String(lastPart))
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            self.init(stem: name)
            return
        }
        let ending = String(name[name.utf8.index(after: dot)...])
        if let format = ImageFormat(fileExtension: ending) {
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
        // Commands would parse a leading dash as an option, and users could not see a name without visible characters.
        let isPlain = stem.unicodeScalars.first != "-" && stem.unicodeScalars.contains(where: TerminalText.isVisible)
        self.stem = isPlain ? stem : "image" + stem
        self.pictureExtension = pictureExtension
        self.pictureFormat = pictureFormat
        self.otherExtension = otherExtension
        chosen = nil
    }

    /// Returns the stem of the file's name, which is fixed before any bytes arrive.
    func stem(inspectsBody: Bool) -> String {
        guard inspectsBody, let otherExtension else { return stem }
        return "\(stem).\(otherExtension)"
    }

    /// Returns the name parts of an image in a known format. The extension is spelled as in the URL if that is correct,
    /// and in the usual way otherwise. An extension of another kind stays in the stem.
    func parts(for format: ImageFormat) -> NameParts {
        if let chosen { return chosen }
        if let pictureExtension, pictureFormat == format {
            return NameParts(stem: stem, fileExtension: pictureExtension)
        }
        return NameParts(stem: stem(inspectsBody: true), fileExtension: format.fileExtension)
    }

    /// Returns the name parts of an uninspected body: the extension is that of the URL or, without one, that of the
    /// media type.
    func parts(forMediaType mediaType: String?) -> NameParts {
        if let chosen { return chosen }
        if let own = pictureExtension ?? otherExtension { return NameParts(stem: stem, fileExtension: own) }
        return NameParts(stem: stem, fileExtension: mediaType.flatMap(FileExtension.of(mediaType:)))
    }

    /// Returns the name parts of a body.
    func parts(for kind: BodyKind) -> NameParts {
        switch kind {
        case .image(let format): parts(for: format)
        case .unknown(let mediaType): parts(forMediaType: mediaType)
        }
    }

    /// Returns the name parts expected before any bytes arrive. `format` is the output format, if it is fixed.
    func expectedParts(format: ImageFormat?, inspectsBody: Bool) -> NameParts {
        if let chosen { return chosen }
        if let format { return parts(for: format) }
        if !inspectsBody { return parts(forMediaType: nil) }
        if let pictureFormat { return parts(for: pictureFormat) }
        return NameParts(stem: stem(inspectsBody: true), fileExtension: nil)
    }

    private static func safe(_ text: String) -> String {
        // Fast path: most names are plain ASCII, and begin with a letter or a digit.
        if let first = text.utf8.first, isLetterOrDigit(first), text.utf8.allSatisfy({ isPlain($0) }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "/" || scalar == "\\" {
                result.append("_")
            } else if !TerminalText.isUnsafe(scalar) {
                result.append(scalar)
            }
        }
        // Compared by scalar: a dot with a combining mark is another character, but it hides a file, too.
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

/// The kind of a body, which decides the extension of its file.
enum BodyKind: Sendable {
    case image(ImageFormat)
    /// A body that was not inspected, or that is no image, with the server's media type.
    case unknown(mediaType: String?)
}

/// The parts of a file name before it is numbered.
struct NameParts: Hashable, Sendable {
    var stem: String
    var fileExtension: String?

    /// Returns the whole name, at most ``SuggestedName/limit`` bytes: `a.jpg` for 1, `a-2.jpg` for 2. A long stem is
    /// truncated between characters.
    func name(number: Int) -> String {
        let ending = (number > 1 ? "-\(number)" : "") + (fileExtension.map { "." + $0 } ?? "")
        return Self.cut(stem, to: SuggestedName.limit - ending.utf8.count) + ending
    }

    /// Returns the beginning of a text, at most `limit` bytes of UTF-8, truncated between characters.
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
        // A single character with that many combining marks is truncated between its scalars.
        used = 0
        for scalar in text.unicodeScalars {
            used += scalar.utf8.count
            if used > limit { break }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
