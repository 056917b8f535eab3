/// Everything that a batch run is told: its input, its output, and its limits.
package struct BatchConfiguration: Sendable {
    /// Where the keys of samples come from.
    package enum Keys: String, CaseIterable, Sendable {
        /// The position of the row, as img2dataset's.
        case position
        /// The id column.
        case id
        /// The SHA-256 of the URL and of the options that affect the image.
        case digest
    }

    /// How the rows of a divided run are distributed.
    package enum Division: String, CaseIterable, Sendable {
        /// By the row's host, so that each host is in one part.
        case host
        /// By the row's number, for parts of equal size.
        case row
    }

    /// The folder of the output. Its parent exists.
    package var folder: String
    /// The inputs, in their order.
    package var inputs: [InputSource]
    /// The columns to read.
    package var columns = InputOptions()
    /// The names of the columns that pass through to the output; if nil, those of the first shard's rows.
    package var ownColumns: [String]?
    /// Where the samples of a shard are.
    package var form = ShardWriter.Form.webdataset
    /// The number of rows in a shard.
    package var shardSize = 10_000
    /// Where the keys come from.
    package var keys = Keys.position
    /// The part of the rows to process, if the run is divided.
    package var part: ShardLayout.Part?
    /// How the rows of a divided run are distributed.
    package var division = Division.host
    /// The way of each row.
    package var rows: RowConfiguration
    /// Whether equal bodies are stored once.
    package var deduplicatesContent = false
    /// The maximum size of the staged files, in bytes.
    package var stagingLimit: Int64 = 8 << 30
    /// The program that takes over the files of finished shards, if any. Archives only.
    package var then: ThenProgram?
    /// The options that affect the output, by their names, with their values as text. A resumed run must have the same.
    package var outputOptions: [String: String] = [:]
    /// The classes of failures that are fetched again in finished shards; `nil` unless the run is a retry. An empty set
    /// stands for all transient classes.
    package var retriedClasses: Set<String>?

    /// Returns whether rows that failed with this class are fetched again.
    func retries(_ name: String) -> Bool {
        guard let retriedClasses else { return false }
        return retriedClasses.isEmpty ? FailureClasses.isTransient(name) : retriedClasses.contains(name)
    }

    /// The options on which keys by digest depend: those that affect an image.
    var keyOptions: String {
        let names = outputOptions.keys.filter { Self.imageOptions.contains($0) }.sorted()
        return names.map { "\($0)=\(outputOptions[$0] ?? "")" }.joined(separator: "\n")
    }

    private static let imageOptions: Set<String> = [
        "size", "fit", "crop", "enlarge", "keep-smaller", "linear", "page", "process", "format", "quality",
        "progressive", "lossless",
        "background", "keep-metadata", "raw", "raw-if-unchanged", "bbox-column",
    ]

    /// Creates a configuration with defaults for everything else.
    package init(folder: String, inputs: [InputSource], rows: RowConfiguration) {
        self.folder = folder
        self.inputs = inputs
        self.rows = rows
    }
}
