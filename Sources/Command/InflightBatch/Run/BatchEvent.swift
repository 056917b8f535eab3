/// What a run reports while it works. Delivered in order, on the run's queue.
package enum BatchEvent: Sendable {
    /// The journal is open. `resumedRows` is the number of rows that an earlier run has ended.
    case started(resumedRows: Int, finishedShards: Int)
    /// A row has ended. It ends again if its staged image is lost before its shard is written.
    case rowEnded(BatchRowEnd)
    /// A row of the input cannot be used.
    case rejected(file: String, line: Int, reason: String)
    /// An input has rows, and all of them were rejected, the first one for this reason.
    case allRejected(file: String, rows: Int, line: Int, reason: String)
    /// All rows of the input were read.
    case inputEnded(rows: Int, rejects: Int)
    /// A shard is complete on disk.
    case shardFinished(shard: Int, ShardStats)
    /// The program of `--then` has taken all files of a shard.
    case handedOver(shard: Int)
    /// Something that people should know about, as one sentence or two.
    case warning(String)
}

/// The end of one row.
package struct BatchRowEnd: Sendable {
    /// The kind of an outcome.
    package enum Kind: Hashable, Sendable {
        /// The row has an image.
        case success
        /// The row has the image of another row.
        case duplicate
        /// The row failed with this class.
        case failure(class: String)
    }

    /// The number of the row.
    package var row: Int
    /// The host of its URL; empty if the URL is invalid.
    package var host: String
    /// Its outcome.
    package var kind: Kind
    /// The message of a failure, for people.
    package var message: String?
    /// The bytes that were received, and the bytes of the written image.
    package var receivedBytes: Int64 = 0
    package var imageBytes: Int64 = 0
    /// The SHA-256 of the body, if one was received.
    package var digest: ContentDigest?

    /// Creates the end of a row.
    package init(row: Int, host: String, kind: Kind, message: String? = nil) {
        self.row = row
        self.host = host
        self.kind = kind
        self.message = message
    }
}

/// The state of a run, for the progress line.
package struct BatchState: Sendable {
    /// The number of running requests.
    package var running = 0
    /// The number of rows that were read.
    package var rowsRead = 0
    /// The number of rows of the input, once it has ended.
    package var rowCount: Int?
    /// An estimate of ``rowCount`` while the input is read; `nil` if its length is unknown, as that of a pipe.
    package var estimatedRowCount: Int?
    /// The size of the staged files, in bytes.
    package var stagedBytes: Int64 = 0
    /// The number of times that the staging folder became full.
    package var stagingWasFull = 0
    /// The hosts of the requests that have run longest, with their durations: the stragglers.
    package var stragglers: [(host: String, duration: Duration)] = []

    /// Creates the state of a run that has not begun.
    package init() {}
}

/// How a run ended.
package enum BatchEnding: Sendable {
    /// Every row has an outcome.
    case finished
    /// The run was stopped, and can be resumed.
    case stopped
    /// The run could not continue.
    case failed(BatchFailure)
}
