/// The full record of one run of the command: the source of `--report` and `--trace`.
///
/// Times are microseconds since the run began, by the pipeline's clock. Texts are as received from servers and lists;
/// the code that writes them out makes them safe for their destination.
struct RunRecord: Sendable {
    /// One requested URL, in request order.
    struct Load: Sendable {
        enum Outcome: String, Sendable, CaseIterable {
            case ok, failed, skipped, cancelled
        }

        /// The number of the line, from 1.
        var id: Int
        /// The URL, without user name and password.
        var url: String
        var outcome: Outcome
        /// The source, as in `--json`: `network`, `disk`, `revalidated`, `shared`, `memory`, `file`, `data`.
        var from: String?
        var start: Int
        var end: Int
        /// The size of the body in bytes, after content decoding.
        var bytes: Int64?
        var status: Int?
        var format: String?
        var width: Int?
        var height: Int?
        /// The path of the file, as seen from the working directory.
        var file: String?
        var error: Failure?
        /// The stages that it waited for, and their times, in order of their beginnings.
        var spans: [Span] = []
        var marks: [Mark] = []
        /// The line whose load provided the image, this one or an earlier one for the same URL; `nil` without an image.
        var pictureLine: Int?
        /// The thumbnail, encoded by this program: see ``ThumbnailRenderer``. Not every image has one.
        var thumbnail: [UInt8]?
    }

    struct Failure: Sendable, Hashable {
        var code: String
        var stage: String
        var message: String
    }

    /// The stages of a load, in their usual order.
    enum Stage: String, Sendable, CaseIterable {
        /// Waiting for a slot in a lane.
        case queued
        /// Reading from the disk cache, or from a file.
        case disk
        /// Waiting before a retry.
        case backoff
        case nameLookup, connect, tls
        /// From the last byte of the request to the first byte of the response.
        case firstByte
        case download
        case decode, process, encode
        /// Writing into the disk cache, or into the requested file.
        case store
        /// Waiting for the callback queue.
        case deliver
    }

    struct Span: Sendable {
        var stage: Stage
        var start: Int
        var end: Int
        /// The job that this span belongs to, if any: an index into ``RunRecord/jobs``. Loads with the same
        /// job shared it.
        var job: Int?
    }

    /// An event at one moment.
    struct Mark: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case joined, redirected, retried, revalidated, resumed, preview, cancelled, failed
        }

        var kind: Kind
        var at: Int
        /// The reason in a few words, such as `503, after 1.2 s`; empty if there is none.
        var why: String
    }

    /// One job that loads may share.
    struct Job: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case fetch, decode, process, encode, store
        }

        var kind: Kind
        /// The subject: a URL without credentials, or a URL and the processing of its image.
        var subject: String
        var start: Int
        var end: Int
        /// The total number of loads that waited for it.
        var waiters: Int
    }

    /// The occupancy of one lane: a sample each time it changed, thinned out to as many as a drawing can show.
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
            /// The greatest value that falls into it, in microseconds or bytes.
            var upper: Int
            var count: Int
        }

        /// Returns fine buckets merged for a drawing: four ranges for each power of two, including empty ranges between
        /// the first and the last.
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

        /// Returns the greatest value of the range that contains a value.
        private static func upper(of value: Int) -> Int {
            let shift = max(0, Int.bitWidth - 3 - value.leadingZeroBitCount)
            return value | ((1 << shift) - 1)
        }

        var name: String
        /// The unit: `us` or `B`.
        var unit: String
        var buckets: [Bucket] = []
        var count: Int
        var p50: Int
        var p90: Int
        var p95: Int
        var p99: Int
    }

    /// The number of bytes received from the network since the beginning, sampled when it changed.
    struct BytesSample: Sendable {
        var at: Int
        var bytes: Int64
    }

    /// The command line, without credentials.
    var command: String
    /// The start of the run: RFC 3339, UTC.
    var startedAt: String
    var duration: Int
    var loads: [Load] = []
    var jobs: [Job] = []
    var lanes: [Lane] = []
    var bytes: [BytesSample] = []
    var histograms: [Histogram] = []
    /// The totals of the loads that are not among ``loads``, as there were too many to keep: see ``RetainedLoads``.
    var unlisted = RecordTotals()
    /// The number of events lost because there were too many at once; 0 in an ordinary run.
    var dropped: Int = 0
}
