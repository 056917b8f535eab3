/// All that is known of one run of the command afterwards: what `--report` and `--trace` are made from.
///
/// Times are microseconds since the run began, by the pipeline's clock. Texts are as they came from servers and lists:
/// whoever writes them out makes them safe for the place where they go.
struct RunRecord: Sendable {
    /// One URL that was asked for, in the order of asking.
    struct Load: Sendable {
        enum Outcome: String, Sendable, CaseIterable {
            case ok, failed, skipped, cancelled
        }

        /// From 1.
        var id: Int
        /// Without user name and password.
        var url: String
        var outcome: Outcome
        /// Where the bytes came from, as in `--json`: `network`, `disk`, `revalidated`, `shared`, `memory`, `file`, `data`.
        var from: String?
        var start: Int
        var end: Int
        /// The body's, after content decoding.
        var bytes: Int64?
        var status: Int?
        var format: String?
        var width: Int?
        var height: Int?
        /// From where the command runs.
        var file: String?
        var error: Failure?
        /// What it waited for, and how long: in order of their beginnings.
        var spans: [Span] = []
        var marks: [Mark] = []
        /// The load that its picture came with, this one or an earlier one of the same; `nil` where there is no picture.
        var pictureLine: Int?
        /// A small picture, encoded by this program: see ``ThumbnailMaker``. Not every picture has one.
        var thumbnail: [UInt8]?
    }

    struct Failure: Sendable, Hashable {
        var code: String
        var stage: String
        var message: String
    }

    /// What a load can be at. The order is the order in which they usually come.
    enum Stage: String, Sendable, CaseIterable {
        /// Waiting for a place in a lane.
        case queued
        /// Reading from the disk cache, or from a file.
        case disk
        /// Waiting before another try.
        case backoff
        case nameLookup, connect, tls
        /// From the request's last byte to the answer's first.
        case firstByte
        case download
        case decode, process, encode
        /// Writing into the disk cache, or the file that was asked for.
        case store
        /// Waiting for the callback queue.
        case deliver
    }

    struct Span: Sendable {
        var stage: Stage
        var start: Int
        var end: Int
        /// Whose work this was, where it was a job's: an index into ``RunRecord/jobs``. Several loads that name the same
        /// job shared it.
        var job: Int?
    }

    /// What happened at one moment.
    struct Mark: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case joined, redirected, retried, revalidated, resumed, preview, cancelled, failed
        }

        var kind: Kind
        var at: Int
        /// Why, in a few words: `503, waits 1.2 s`. Empty where there is nothing to say.
        var why: String
    }

    /// One piece of work that loads may share.
    struct Job: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case fetch, decode, process, encode, store
        }

        var kind: Kind
        /// What it is about: a URL without credentials, or a URL and what is made of its picture.
        var subject: String
        var start: Int
        var end: Int
        /// How many loads waited for it in all.
        var waiters: Int
    }

    /// How full one lane was: a sample each time it changed, thinned out to what a drawing can show.
    struct Lane: Sendable {
        struct Sample: Sendable {
            var at: Int
            var running: Int
            var waiting: Int
        }

        var name: String
        var limit: Int
        var samples: [Sample] = []
    }

    struct Histogram: Sendable {
        struct Bucket: Sendable {
            /// The greatest value that falls into it, microseconds or bytes.
            var upper: Int
            var count: Int
        }

        /// What fine buckets come to as a drawing shows them: four ranges for each power of two, none left out between the
        /// first and the last.
        static func ranges(_ fine: [(upper: Int64, count: Int)]) -> [Bucket] {
            var ranges: [Bucket] = []
            for bucket in fine {
                let upper = Self.upper(of: Int(bucket.upper))
                while let last = ranges.last, last.upper < upper {
                    ranges.append(Bucket(upper: Self.upper(of: last.upper + 1), count: 0))
                }
                if ranges.isEmpty { ranges.append(Bucket(upper: upper, count: 0)) }
                ranges[ranges.count - 1].count += bucket.count
            }
            return ranges
        }

        /// The greatest value of the range that a value lies in.
        private static func upper(of value: Int) -> Int {
            let shift = max(0, Int.bitWidth - 3 - value.leadingZeroBitCount)
            return value | ((1 << shift) - 1)
        }

        var name: String
        /// `us` or `B`.
        var unit: String
        var buckets: [Bucket] = []
        var count: Int
        var p50: Int
        var p90: Int
        var p95: Int
        var p99: Int
    }

    /// What came off the network since the beginning, where it changed.
    struct BytesSample: Sendable {
        var at: Int
        var bytes: Int64
    }

    /// The command line, with credentials taken out.
    var command: String
    /// When the run began: RFC 3339, UTC.
    var startedAt: String
    var duration: Int
    var loads: [Load] = []
    var jobs: [Job] = []
    var lanes: [Lane] = []
    var bytes: [BytesSample] = []
    var histograms: [Histogram] = []
    /// What the loads add up to that are not among ``loads``, because there were too many to keep: see ``KeptLoads``.
    var unlisted = RecordTotals()
    /// Events that were not heard, because there were too many at once. 0 in an ordinary run.
    var dropped: Int = 0
}
