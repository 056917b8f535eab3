/// The end of one row.
///
/// `Token` names the staged files of a success. The assembler stores it and returns it.
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

/// The members of a sample that wait on disk for their shard.
package struct StagedSample<Token: Sendable>: Sendable {
    /// The size of the image, in bytes.
    package var imageSize: Int64
    /// The size of the JSON member, in bytes. 0 if it is written only when the shard is assembled.
    package var metadataSize: Int64
    /// The size of the caption, in bytes. 0 if there is none, or if it is not staged.
    package var captionSize: Int64
    /// The caller's name for the staged files.
    package var token: Token

    /// Creates a sample.
    package init(imageSize: Int64, metadataSize: Int64 = 0, captionSize: Int64 = 0, token: Token) {
        self.imageSize = imageSize
        self.metadataSize = metadataSize
        self.captionSize = captionSize
        self.token = token
    }

    /// The size of all members, in bytes, or `nil` if one cannot be the size of a member of a tar archive.
    var size: Int64? {
        let allowed = 0...TarHeader.maximumSize
        guard allowed ~= imageSize, allowed ~= metadataSize, allowed ~= captionSize else { return nil }
        return imageSize + metadataSize + captionSize
    }
}

/// The outcome of a row, as the assembly of its shard needs it.
package enum AssembledOutcome<Token: Sendable>: Sendable {
    /// Where the assembly finds the outcome of the row that a duplicate names.
    package enum Original: Sendable {
        /// The original is staged. Its files remain until the assembly ends.
        case staged(StagedSample<Token>)
        /// The original failed.
        case failed(class: String, message: String)
        /// The original's shard was finished before. The journal knows its outcome, and the shard holds its body.
        case finished
    }

    /// The row's own staged sample.
    case success(StagedSample<Token>)
    /// The row's own failure.
    case failure(class: String, message: String)
    /// The outcome of another row. The number names a row that is no duplicate itself, unless its shard was finished
    /// before.
    case duplicate(of: Int, Original)
}
