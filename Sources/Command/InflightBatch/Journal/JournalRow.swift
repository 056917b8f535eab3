/// What a sidecar says of an image.
package struct ImageRecord: Hashable, Sendable {
    /// The width of the written image, in pixels.
    package var width: Int?
    /// The height of the written image, in pixels.
    package var height: Int?
    /// The width of the fetched image, in pixels.
    package var originalWidth: Int?
    /// The height of the fetched image, in pixels.
    package var originalHeight: Int?
    /// The EXIF tags as text that is a JSON object, as img2dataset's: `{}` if the image has none.
    package var exif: String?
    /// The SHA-256 of the fetched body.
    package var sha256: ContentDigest?

    /// Creates a record without values.
    package init() {}
}

/// What the journal stores of a staged image.
package struct StagedImage: Hashable, Sendable {
    /// The offset in the file of its shard's images, in bytes.
    package var offset: Int64
    /// Its size, in bytes.
    package var size: Int64
    /// The XXH64 of its bytes; `nil` in a journal of version 1.
    package var sum: UInt64?
    /// What its shard will say of it.
    package var record: ImageRecord

    /// Creates the record of a staged image.
    package init(offset: Int64, size: Int64, sum: UInt64?, record: ImageRecord = ImageRecord()) {
        self.offset = offset
        self.size = size
        self.sum = sum
        self.record = record
    }
}

/// A row of an open shard that has ended.
package struct JournalRow: Sendable {
    /// The number of the row in the run, from 0.
    package var number: Int
    /// The host of its URL.
    package var host: String
    /// Its outcome.
    package var outcome: RowOutcome<StagedImage>

    /// Creates a row.
    package init(number: Int, host: String, outcome: RowOutcome<StagedImage>) {
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

/// A row of a finished shard.
package struct FinishedRow: Hashable, Sendable {
    /// Its class.
    package var outcomeClass: OutcomeClass
    /// The block of the shard's archive at which its image begins, if the journal knows it.
    package var imageBlock: UInt32?
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
