/// The end of one row.
///
/// `Token` names the staged image of a success: its row for the ``ShardBook``, its place in the file for the journal.
package enum RowOutcome<Token: Sendable>: Sendable {
    /// The row's image is staged.
    case success(StagedSample<Token>)
    /// The row has no image: the class of the failure, and a message for people.
    case failure(class: String, message: String)
    /// The row has the outcome of an earlier row: one with the same URL, or with the same body.
    ///
    /// A row whose body equals that of a later row, which has ended before, is a success: which of the two ended first
    /// must not change the output. Its token may name the same file, with size 0.
    case duplicate(of: Int)
}

/// An image that waits on disk for its shard.
package struct StagedSample<Token: Sendable>: Sendable {
    /// The size of the image, in bytes.
    package var imageSize: Int64
    /// The caller's name for the image.
    package var token: Token

    /// Creates a sample.
    package init(imageSize: Int64, token: Token) {
        self.imageSize = imageSize
        self.token = token
    }
}

/// The outcome of a row, as the assembly of its shard needs it.
package enum AssembledOutcome: Sendable {
    /// Where the assembly finds the outcome of the row that a duplicate names.
    package enum Original: Sendable {
        /// The original is staged, and remains so until the assembly ends.
        case staged(StagedSample<Int>)
        /// The original failed.
        case failed(class: String, message: String)
        /// The original's shard was finished before. The journal knows its outcome, and the shard holds its body.
        case finished
    }

    /// The row's own staged sample.
    case success(StagedSample<Int>)
    /// The row's own failure.
    case failure(class: String, message: String)
    /// The outcome of another row. The number names a row that is no duplicate itself, unless its shard was finished
    /// before.
    case duplicate(of: Int, Original)
}
