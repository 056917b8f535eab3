internal import InflightFiles

/// A row of the input.
package struct InputRow: Hashable, Sendable {
    /// A column that passes through to the output.
    package struct Column: Hashable, Sendable {
        /// The name, from the header or, without escapes, from the JSON object.
        package var name: String
        /// The value, as it is in the input.
        package var value: Value
    }

    /// The value of a column.
    package enum Value: Hashable, Sendable {
        /// A field of CSV or TSV, without quotes.
        case text(String)
        /// The bytes of a valid JSON value, in UTF-8.
        case json([UInt8])
    }

    /// The position among all rows of the input, rejected ones included, from 0.
    package var number: Int
    /// The line where the row begins, from 1.
    package var line: Int
    /// The URL, not parsed, without white space around it. Empty if the row has none.
    package var url: String
    /// The identifier, if the row has one. A JSON number is kept as it is written.
    package var id: String?
    /// The caption, if the row has one. A JSON value other than a string is kept as it is written.
    package var caption: String?
    /// The digests that the body of the URL must have, from their columns.
    package var digests: [BodyDigest] = []
    /// The boxes to blur in its image, from their column.
    package var boxes: [BlurBox] = []
    /// The key of its sample, set by the run; `nil` if that comes from the position.
    var key: String?
    /// All other columns, in the order of the input.
    package var columns: [Column] = []

    /// What rows have in common that are fetched once: the URL, the digests of its body, and the boxes to blur.
    var fetchKey: String {
        if digests.isEmpty, boxes.isEmpty { return url }
        return ([url] + digests.map(\.hex) + [BlurBox.text(boxes)]).joined(separator: "\n")
    }

    /// The value of a column as text, that of a JSON string without quotes; `nil` for a column that the row lacks.
    func text(ofColumn name: String) -> String? {
        switch columns.first(where: { $0.name == name })?.value {
        case .text(let text): text
        case .json(let bytes): JSONScanner.text(bytes[...])
        case nil: nil
        }
    }
}

/// A row that cannot be used.
package struct InputReject: Hashable, Sendable {
    /// The reason for a reject. Its description is a sentence.
    package enum Reason: Error, Hashable, Sendable {
        /// The row is not valid JSON; `column` is the position in bytes in the line, from 1. The line is that of the
        /// row unless it is given.
        case malformedJSON(JSONProblem, line: Int? = nil, column: Int)
        /// The input ends before the array does. Its elements were read.
        case unclosedArray
        /// The row is a JSON value other than an object.
        case notAnObject
        /// The JSON object has two members of one name.
        case duplicateMember(String)
        /// The JSON object has no member for the URL.
        case missingURL(member: String)
        /// The URL is not a JSON string or null.
        case urlNotAString(member: String)
        /// The identifier is not a JSON string, number or null.
        case idNotAStringOrNumber(member: String)
        /// The value of a column is not a digest.
        case notADigest(column: String, BodyDigest.Function)
        /// The value of a column is not a list of boxes to blur.
        case notBoxes(column: String, BlurBox.Problem)
        /// The number of fields differs from the header's.
        case wrongNumberOfFields(Int, header: Int)
        /// The number of fields differs from that of the columns of an input without a header.
        case otherNumberOfFields(Int, columns: Int)
        /// A quoted field contains line breaks, and does not end before a separator or the end of a line, or not within
        /// the row limit. Reading resumes at the line after `line`, where the field begins.
        case quoteNeverClosed(line: Int)
        /// A closing quote, on this line, is not followed by a separator or the end of the line.
        case textAfterQuote(line: Int)
        /// The row is longer than the limit, in bytes.
        case tooLong(limit: Int)
        /// The row is not valid UTF-8.
        case notUTF8
        /// The row contains a NUL byte.
        case containsNUL
    }

    /// The position among all rows of the input, from 0.
    package var number: Int
    /// The line where the row begins, from 1.
    package var line: Int
    /// Why the row cannot be used.
    package var reason: Reason
}

extension InputReject.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedJSON(let problem, let line?, let column):
            "Malformed JSON at column \(column) of line \(line): \(problem.rawValue)."
        case .malformedJSON(let problem, nil, let column): "Malformed JSON at column \(column): \(problem.rawValue)."
        case .unclosedArray: "The JSON array is never closed. The input may be truncated."
        case .notAnObject: "The row is not a JSON object."
        case .duplicateMember(let name): "The JSON object has two members '\(name)'."
        case .missingURL(let member): "The JSON object has no member '\(member)'."
        case .urlNotAString(let member): "The member '\(member)' is not a string."
        case .idNotAStringOrNumber(let member): "The member '\(member)' is not a string or a number."
        case .notADigest(let column, let function):
            "The column '\(column)' has no \(function.name): \(function.digitCount) hexadecimal digits, or base64."
        case .notBoxes(let column, let problem): "The column '\(column)' \(problem.rawValue)."
        case .wrongNumberOfFields(let count, let header):
            "The row has \(count) \(count == 1 ? "field" : "fields"), the header \(header)."
        case .otherNumberOfFields(let count, let columns):
            "The row has \(count) \(count == 1 ? "field" : "fields"), --columns-are names \(columns)."
        case .quoteNeverClosed(let line):
            "The quoted field that begins on line \(line) is not closed. If quotes mean nothing here, use --quoting none."
        case .textAfterQuote(let line): "Text follows the closing quote of a field on line \(line)."
        case .tooLong(let limit): "The row is longer than the limit of \(limit) bytes."
        case .notUTF8: "The row is not valid UTF-8."
        case .containsNUL: "The row contains a NUL byte."
        }
    }
}

/// An error that ends the reading of an input. Its description is a message without the input's name.
package enum InputError: Error, Hashable, Sendable {
    /// The input has no rows, and, if `header` is false, no header where it needs one.
    case empty(header: Bool)
    /// The header has no such column.
    case missingColumn(String, columns: [String])
    /// The header has two columns of one name.
    case duplicateColumn(String)
    /// The columns were named, but the input is neither CSV nor TSV.
    case columnNamesWithoutTable
    /// The input is not text. `kind` names its format, if known.
    case binary(kind: String?)
    /// The header is longer than the limit, in bytes.
    case headerTooLong(limit: Int)
    /// The header cannot be read.
    case malformedHeader(InputReject.Reason)
    /// No file matches the pattern.
    case noMatch
    /// Standard input is a folder.
    case folder
    /// The input is a folder without files of a format.
    case folderWithoutInputs
    /// The name of the input does not tell its format.
    case unknownFormat
    /// The name of the input, or of all files in a folder, is that of a Parquet file.
    case parquet
    /// The input cannot be opened. The code is the system's.
    case cannotOpen(code: Int32)
    /// The input cannot be read to its end. The code is the system's.
    case cannotRead(code: Int32)
    /// The compressed data is malformed.
    case corrupt(InputFormat.Compression)
    /// The compressed data ends too early.
    case truncated(InputFormat.Compression)
    /// There is no memory for reading the input.
    case outOfMemory
    /// The copy of the input cannot be written.
    indirect case cannotKeep(BatchFailure)
}

extension InputError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty(header: true): "The input has a header, but no rows."
        case .empty(header: false): "The input is empty."
        case .missingColumn(let name, let columns) where columns.isEmpty:
            "The input has no column '\(name)': the text format has only URLs."
        case .missingColumn(let name, let columns): "The input has no column '\(name)'. Columns: \(Self.list(columns))."
        case .duplicateColumn(let name): "The header has two columns '\(name)'."
        case .columnNamesWithoutTable:
            "--columns-are names the columns of CSV and TSV, and the input is neither. Set its format with --input-format."
        case .binary(BinarySignature.parquet): "The input is not text, but a Parquet file. \(Self.parquetRemedy)"
        case .binary(let kind?): "The input is not text, but \(kind)."
        case .binary(nil): "The input is not text: it contains NUL bytes."
        case .headerTooLong(let limit): "The header is longer than the limit of \(limit) bytes."
        case .malformedHeader(let reason): "The header is malformed. \(reason)"
        case .noMatch: "No file matches the pattern."
        case .folder: "The input is a folder. Name it as an argument."
        case .folderWithoutInputs:
            "The folder has no files of this format. Their names end in .txt, .jsonl, .csv or .tsv, also with .gz or .zst."
        case .unknownFormat:
            "The name of the input does not tell its format. Use a name that ends in .txt, .jsonl, .csv or .tsv, also "
                + "with .gz or .zst, or --input-format."
        case .parquet: "The command itself does not read Parquet. \(Self.parquetRemedy)"
        case .cannotOpen(let code): "Cannot open the input: \(SystemError(code: code).systemText)."
        case .cannotRead(let code): "Cannot read the input: \(SystemError(code: code).systemText)."
        case .corrupt(.gzip): "The gzip data is corrupt."
        case .corrupt(.zstd): "The zstd data is corrupt, or was compressed with a window of more than 8 MiB."
        case .truncated(let compression): "The \(compression.rawValue) data is truncated."
        case .outOfMemory: "There is not enough memory for reading the input."
        case .cannotKeep(let error): "\(error)"
        }
    }

    private static let parquetRemedy =
        "Use its Python package: python -m inflight batch LIST.parquet -o DIR, with the same options. "
        + "pip install 'inflight-images[parquet]' installs it."

    /// Lists at most 20 names, each of at most 60 characters, so that the message stays readable.
    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(20).map { $0.count > 60 ? "\($0.prefix(59))…" : String($0) }.joined(separator: ", ")
        return names.count > 20 ? "\(shown) and \(names.count - 20) more" : shown
    }
}
