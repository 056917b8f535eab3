/// The format of an input's rows.
package enum InputFormat: Hashable, Sendable {
    /// One URL per line. White space around the URL and blank lines are skipped.
    case text
    /// One JSON object per line (RFC 8259).
    case jsonLines
    /// Comma-separated values with a header (RFC 4180).
    case csv
    /// As ``csv``, with tabs in place of commas. Quotes have the same meaning.
    case tsv

    /// The compression of an input. The raw value is its name.
    package enum Compression: String, Hashable, Sendable {
        /// RFC 1952.
        case gzip
        /// RFC 8878.
        case zstd

        /// The number of bytes that ``detected(start:)`` needs, unless the input is shorter.
        static let signatureLength = 4

        /// Returns the compression of a file that begins with these bytes, or `nil` if it has none.
        static func detected(start: ArraySlice<UInt8>) -> Compression? {
            if start.starts(with: [0x1F, 0x8B]) { return .gzip }
            if start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return .zstd }
            // Some compressors first write a frame to skip (RFC 8878 section 3.1.2).
            guard let first = start.first, first & 0xF0 == 0x50 else { return nil }
            return start.dropFirst().starts(with: [0x2A, 0x4D, 0x18]) ? .zstd : nil
        }
    }

    /// Returns the format and the compression that a file name stands for, or `nil` if its suffix is unknown.
    ///
    /// The case of the suffix does not matter. `.json` stands for JSON Lines.
    ///
    /// - Parameter name: A file name or a path.
    package static func detected(fileName name: String) -> (format: InputFormat, compression: Compression?)? {
        var parts = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)[...]
        var compression: Compression?
        switch parts.last {
        case "gz": compression = .gzip
        case "zst": compression = .zstd
        default: break
        }
        if compression != nil { parts.removeLast() }
        guard parts.count > 1, let suffix = parts.last, let format = suffixes[String(suffix)] else { return nil }
        return (format, compression)
    }

    private static let suffixes: [String: InputFormat] = [
        "txt": .text, "list": .text, "jsonl": .jsonLines, "ndjson": .jsonLines, "json": .jsonLines, "csv": .csv,
        "tsv": .tsv,
    ]
}

/// The columns to read from an input, and the limit of a row.
package struct InputOptions: Hashable, Sendable {
    /// The name of the column or JSON member that holds the URL.
    package var urlColumn = "url"
    /// The name of the column or JSON member that holds the identifier; `nil` reads none.
    package var idColumn: String?
    /// The name of the column or JSON member that holds the caption; `nil` reads none.
    package var captionColumn: String?
    /// The maximum length in bytes of a row and of the header, without the final LF. Clamped to 1…2³².
    package var rowLimit = 1 << 20

    /// Creates the default options.
    package init() {}
}
