import Inflight
import InflightConcurrency
import InflightCore

/// One URL from its line to its report, and every line that asks for it meanwhile.
// Unchecked: touched on the run's queue alone.
final class ListItem: @unchecked Sendable {
    /// A line whose result is not reported yet.
    struct Waiter {
        /// In the order of asking.
        var number: Int
        /// As the line spells the URL.
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
    var machine: ItemMachine<ImageTask, PictureWork.Made>
    /// The first is the one whose load this is.
    var waiters: [Waiter]
    /// When its load began.
    var startedAt: MonotonicTime
    /// The task in the pipeline's events, once its load has begun.
    var taskNumber: PipelineEvent.TaskNumber = 0
    /// Bytes of the body so far, for the progress line.
    var receivedBytes: Int64 = 0
    /// The files of its previews.
    var previews: [String] = []
    /// The beginning of their names, once there is one.
    var previewStem: String?

    init(
        id: Int, url: ResourceURL, key: String, wanted: WantedName, first: Waiter,
        machine: ItemMachine<ImageTask, PictureWork.Made>
    ) {
        self.id = id
        self.url = url
        self.key = key
        self.wanted = wanted
        self.machine = machine
        waiters = [first]
        startedAt = first.askedAt
    }

    /// The URL as the first line spells it.
    var text: String { waiters[0].text }

    /// The key under which lines for the same URL share one item.
    static func key(_ url: ResourceURL) -> String {
        // A line feed is in no URL.
        url.userInfo.map { "\(url.string)\n\($0)" } ?? url.string
    }
}
