import Inflight
import InflightConcurrency
import InflightCore

/// One URL on its way from the list to its report, and everyone who asked for it meanwhile.
///
/// Confined to the run's queue.
final class Ask {
    /// A line that is owed.
    struct Waiter {
        /// In the order of asking.
        var number: Int
        /// As it was asked for.
        var text: String
        var askedAt: MonotonicTime
        /// Which line of the run it is, from 1.
        var line: Int
    }

    /// Ascending in the order of asking.
    let id: Int
    let url: ResourceURL
    let key: String
    let wanted: WantedName
    /// The first is the one whose load this is.
    var waiters: [Waiter]
    /// When the engine was asked.
    var startedAt: MonotonicTime
    var task: ImageTask?
    /// What events call its load, once that is begun.
    var taskNumber: PipelineEvent.TaskNumber = 0
    /// What has come so far, for the progress line.
    var receivedBytes: Int64 = 0
    /// Written, and waiting for its name.
    var made: PictureWork.Made?
    /// The files of what was shown of it while it came.
    var previews: [String] = []
    /// What their names begin with, once there is one.
    var previewStem: String?
    /// Whether the book of names waits to hear of it.
    var owesName = false

    init(id: Int, url: ResourceURL, key: String, wanted: WantedName, first: Waiter) {
        self.id = id
        self.url = url
        self.key = key
        self.wanted = wanted
        waiters = [first]
        startedAt = first.askedAt
    }

    /// The URL as it was asked for first.
    var text: String { waiters[0].text }

    /// What tells that two lines ask for the same thing.
    static func key(_ url: ResourceURL) -> String {
        // A line feed is in no URL.
        url.userInfo.map { "\(url.string)\n\($0)" } ?? url.string
    }
}
