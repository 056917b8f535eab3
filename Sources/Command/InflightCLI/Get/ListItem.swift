import Inflight
import InflightConcurrency
import InflightCore

/// One URL from its line to its report, with every line that requests it meanwhile.
// Unchecked: accessed only on the run's queue.
final class ListItem: @unchecked Sendable {
    /// A line whose result is not reported yet.
    struct Waiter {
        /// The number of the line, in request order.
        var number: Int
        /// The URL as spelled in the line.
        var text: String
        var requestedAt: MonotonicTime
        /// The number of the line within the run, from 1.
        var line: Int
    }

    /// The identifier, ascending in request order.
    let id: Int
    let url: ResourceURL
    let key: String
    let suggested: SuggestedName
    var machine: ItemMachine<ImageTask, BodyProcessor.ProcessedBody>
    /// The lines that request the URL. The load was started for the first one.
    var waiters: [Waiter]
    /// The time at which the load began.
    var startedAt: MonotonicTime
    /// The number of the task in the pipeline's events, once the load has begun.
    var taskNumber: ImagePipeline.Event.TaskNumber = 0
    /// The number of body bytes received so far, for the progress line.
    var receivedBytes: Int64 = 0
    /// The files of the previews.
    var previews: [String] = []
    /// The beginning of the previews' names, once there is one.
    var previewStem: String?

    init(
        id: Int, url: ResourceURL, key: String, suggested: SuggestedName, first: Waiter,
        machine: ItemMachine<ImageTask, BodyProcessor.ProcessedBody>
    ) {
        self.id = id
        self.url = url
        self.key = key
        self.suggested = suggested
        self.machine = machine
        waiters = [first]
        startedAt = first.requestedAt
    }

    /// The URL as spelled in the first line.
    var text: String { waiters[0].text }

    /// Returns the key under which lines for the same URL share one item.
    static func key(_ url: ResourceURL) -> String {
        guard let userInfo = url.userInfo else { return url.string }
        // A URL cannot contain a line feed. Byte by byte, because equal text may be encoded in different bytes.
        return "\(url.string)\n\(userInfo.utf8.map { String($0) }.joined(separator: " "))"
    }
}
