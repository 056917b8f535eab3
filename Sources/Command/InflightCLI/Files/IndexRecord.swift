import InflightCore
import InflightSQLite

/// The state of a written file, by which a later run recognises it.
struct FileIdentity: Equatable, Sendable {
    /// The size in bytes.
    var size: Int64
    /// The time of the last modification, in nanoseconds since 1970.
    var modified: Int64
    /// The XXH64 of the contents.
    var checksum: UInt64

    static func checksum(of bytes: Bytes) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe XXH64.of($0, seed: 0) }
    }
}

/// A validator of a stored response (RFC 9110 section 8.8), with which a later run asks whether it has changed.
enum Validator: Equatable, Sendable {
    case entityTag(EntityTag)
    /// The value of `Last-Modified`, as sent.
    case lastModified([UInt8])

    private static let longest = 1024

    /// Creates the validator of a response, or returns nil if it has none, or only one that is too long to record.
    init?(of fields: HTTPFields) {
        if let tag = EntityTag(of: fields), tag.text.count <= Self.longest {
            self = .entityTag(tag)
        } else if let date = fields.rawValues("last-modified").first, Self.isDate(date) {
            self = .lastModified(Array(date))
        } else {
            return nil
        }
    }

    /// Parses the text of a record.
    fileprivate init?(recorded text: ArraySlice<UInt8>) {
        let value = PercentEncoding.decodedBytes(String(decoding: text.dropFirst(), as: UTF8.self))[...]
        switch text.first {
        case UInt8(ascii: "E"):
            guard let tag = EntityTag(value) else { return nil }
            self = .entityTag(tag)
        case UInt8(ascii: "M") where Self.isDate(value): self = .lastModified(Array(value))
        default: return nil
        }
    }

    fileprivate var recorded: [UInt8] {
        switch self {
        case .entityTag(let tag): [UInt8(ascii: "E")] + IndexRecord.escaped(tag.text)
        case .lastModified(let date): [UInt8(ascii: "M")] + IndexRecord.escaped(date)
        }
    }

    /// The name and the value of the header field that asks for a response only if it has changed.
    var condition: (name: String, value: [UInt8]) {
        switch self {
        case .entityTag(let tag): ("If-None-Match", tag.text)
        case .lastModified(let date): ("If-Modified-Since", date)
        }
    }

    private static func isDate(_ value: ArraySlice<UInt8>) -> Bool {
        (1...64).contains(value.count) && value.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// A line of a folder's index: which file holds the image of which URL.
///
/// The line consists of fields between spaces: the checksum of the rest of the line, the URL's key, the file's size,
/// time and checksum, the variant, the extension, the validator, and the name. Text is percent-encoded.
struct IndexRecord: Equatable {
    /// The key of the URL, a digest: URLs may contain secrets, and may be long.
    var key: String
    var name: String
    /// The file as it was written.
    var identity: FileIdentity
    /// The options that determine the file's bytes, as a digest, or `-` for an unchanged body.
    var variant: String
    /// The extension that the name got, if any.
    var fileExtension: String?
    var validator: Validator?

    /// The maximum length of a line in bytes, with every byte of the texts percent-encoded.
    static let longestLine = 6 * 1024

    /// The name, percent-encoded.
    var escapedName: [UInt8] { Self.escaped(name.utf8) }

    /// The line, without a line break.
    var line: [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        line += repeatElement(UInt8(ascii: "0"), count: Self.checksumLength)
        func add(_ field: some Sequence<UInt8>) {
            line.append(UInt8(ascii: " "))
            line += field
        }
        add(key.utf8)
        add(String(identity.size).utf8)
        add(String(identity.modified).utf8)
        add(Hexadecimal.text(identity.checksum).utf8)
        add(variant.utf8)
        add((fileExtension ?? "-").utf8)
        add(validator?.recorded ?? [UInt8(ascii: "-")])
        add(escapedName)
        let checksum = Hexadecimal.text(Self.checksum(line[(Self.checksumLength + 1)...]))
        line.replaceSubrange(..<Self.checksumLength, with: checksum.utf8)
        return line
    }

    /// Parses a line, or returns nil if it is damaged.
    init?(line: [UInt8]) {
        let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        func text(_ index: Int) -> String { String(decoding: fields[index], as: UTF8.self) }
        guard fields.count == 9, fields[0].count == Self.checksumLength,
            fields[0].elementsEqual(Hexadecimal.text(Self.checksum(line[(Self.checksumLength + 1)...])).utf8),
            fields[1].count == Self.keyLength, let size = Int64(text(2)), size >= 0, let modified = Int64(text(3)),
            let checksum = UInt64(text(4), radix: 16),
            let name = Self.unescaped(fields[8]), Self.isPlain(name)
        else { return nil }
        key = text(1)
        self.name = name
        identity = FileIdentity(size: size, modified: modified, checksum: checksum)
        variant = text(5)
        fileExtension = text(6) == "-" ? nil : text(6)
        validator = Validator(recorded: fields[7])
    }

    init(
        key: String, name: String, identity: FileIdentity, variant: String, fileExtension: String?,
        validator: Validator?
    ) {
        self.key = key
        self.name = name
        self.identity = identity
        self.variant = variant
        self.fileExtension = fileExtension
        self.validator = validator
    }

    /// Returns the key of a text such as a URL.
    static func key(of text: String) -> String {
        var hash = SHA256()
        hash.append(text.utf8)
        return Hexadecimal.text(Array(hash.digest.prefix(keyLength / 2)))
    }

    private static let keyLength = 32
    private static let checksumLength = 16

    /// Whether a name is one that this program gives: in the folder itself, and not hidden.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 255 && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 != 0 }
    }

    static func escaped(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes {
            if byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result += Hexadecimal.text([byte]).utf8
            }
        }
        return result
    }

    /// Returns a percent-encoded name as text, or nil if it is not valid UTF-8.
    static func unescaped(_ name: ArraySlice<UInt8>) -> String? {
        String(validating: PercentEncoding.decodedBytes(String(decoding: name, as: UTF8.self)), as: UTF8.self)
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe XXH64.of($0, seed: 0) }
    }
}
