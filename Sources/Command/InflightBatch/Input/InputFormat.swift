/// The format of an input's rows.
package enum InputFormat: Hashable, Sendable {
    /// One URL per line. White space around the URL and blank lines are skipped.
    case text
    /// JSON objects (RFC 8259): one per line, or the elements of one or more arrays.
    case json
    /// One JSON object per line, and no arrays.
    case jsonLines
    /// Comma-separated values with a header (RFC 4180).
    case csv
    /// Tab-separated values with a header. Quotes have no meaning by default.
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
    /// The case of the suffix does not matter. `.json`, `.jsonl` and `.ndjson` all stand for
    /// ``json``: files of either form have these names.
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

    /// Whether a file name, or a path, is that of a Parquet file, which another program has to convert.
    static func isParquet(fileName name: String) -> Bool { name.lowercased().hasSuffix(".parquet") }

    private static let suffixes: [String: InputFormat] = [
        "txt": .text, "list": .text, "jsonl": .json, "ndjson": .json, "json": .json, "csv": .csv, "tsv": .tsv,
    ]
}

/// The columns to read from an input, the meaning of quotes, and the limit of a row.
package struct InputOptions: Hashable, Sendable {
    /// The meaning of quotes in CSV and TSV.
    package enum Quoting: String, CaseIterable, Sendable {
        /// As in RFC 4180: a field in quotes may contain separators, line breaks and doubled quotes.
        case csv
        /// None: a quote is a character like any other.
        case none
    }

    /// The name of the column or JSON member that holds the URL.
    package var urlColumn = "url"
    /// The name of the column or JSON member that holds the identifier; `nil` reads none.
    package var idColumn: String?
    /// The name of the column or JSON member that holds the caption; `nil` reads none.
    package var captionColumn: String?
    /// The names of the columns that hold digests of the bodies. They pass through to the output, too.
    package var digestColumns: [BodyDigest.Function: String] = [:]
    /// The name of the column of the boxes to blur; `nil` blurs none. It passes through to the output, too.
    package var boxColumn: String?
    /// The names of the columns of CSV and TSV without a header, in their order; if `nil`, the first row is the header.
    package var columnNames: [String]?
    /// The meaning of quotes; `nil` stands for ``Quoting/none`` in TSV. In CSV it stands for ``Quoting/csv``, but for
    /// fields of several lines that seem to hide rows.
    package var quoting: Quoting?
    /// The maximum length in bytes of a row and of the header, without the final LF. Clamped to 1…2³².
    package var rowLimit = 1 << 20

    /// Creates the default options.
    package init() {}
}
