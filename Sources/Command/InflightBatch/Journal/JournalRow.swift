/// What the journal stores of a staged image, for the sidecar.
package struct ImageRecord: Hashable, Sendable {
    /// The width of the written image, in pixels.
    package var width: Int?
    /// The height of the written image, in pixels.
    package var height: Int?
    /// The width of the fetched image, in pixels.
    package var originalWidth: Int?
    /// The height of the fetched image, in pixels.
    package var originalHeight: Int?
    /// The EXIF tags, as in ``SidecarRow/exif``.
    package var exif: String?
    /// The SHA-256 of the fetched body.
    package var sha256: ContentDigest?

    /// Creates a record without values.
    package init() {}
}

/// A row of an open shard that has ended.
package struct JournalRow: Sendable {
    /// The number of the row in the run, from 0.
    package var number: Int
    /// The host of its URL.
    package var host: String
    /// Its outcome. Of a staged sample, the journal stores the size of the image and the token.
    package var outcome: RowOutcome<ImageRecord>

    /// Creates a row.
    package init(number: Int, host: String, outcome: RowOutcome<ImageRecord>) {
        self.number = number
        self.host = host
        self.outcome = outcome
    }
}

/// The class of a row's outcome. This is all that the journal stores of a row in a finished shard.
package enum OutcomeClass: Hashable, Sendable {
    /// The row has an image.
    case success
    /// The row has the image of another row.
    case duplicate
    /// The row, or the row that it is a duplicate of, failed with this class.
    case failure(String)
}

/// A shard that is complete on disk.
package struct FinishedShard: Hashable, Sendable {
    /// Its rows. Fewer than the layout's for the last shard.
    package var rows: Range<Int>
    /// The classes of its rows, in their order.
    package var classes: [OutcomeClass]
}

/// An input of a run.
package struct JournalInput: Hashable, Sendable {
    /// The name, as in the command.
    package var name: String
    /// The identity of the file in the caller's terms, empty if it has none.
    package var identity: String
    /// The number of rows; `nil` until its end was read.
    package var rowCount: Int?

    /// Creates an input.
    package init(name: String, identity: String = "", rowCount: Int? = nil) {
        self.name = name
        self.identity = identity
        self.rowCount = rowCount
    }
}
