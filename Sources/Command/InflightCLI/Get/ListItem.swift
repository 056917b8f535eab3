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

    /// The file that an earlier run has stored for the URL.
    final class EarlierFile {
        let file: BodyProcessor.Existing
        /// The record of the index; `nil` for a file whose name the user chose.
        let record: IndexRecord?

        init(_ file: BodyProcessor.Existing, _ record: IndexRecord?) {
            self.file = file
            self.record = record
        }
    }

    /// A load in progress, and the pause of the child that awaits its result.
    struct Load {
        let task: ImageTask
        let pause: RunExecutor.Pause<Result<BodyProcessor.Loaded, LoadError>>
    }

    /// The identifier, ascending in request order.
    let id: Int
    let url: ResourceURL
    /// The key under which lines for the same URL share the item.
    let key: String
    /// The name that the user chose for the file, if any.
    private let chosenName: String?
    /// The name suggested for the file. Items without a file do not need it.
    private(set) lazy var suggested = chosenName.map { SuggestedName(chosen: $0) } ?? SuggestedName(url)
    /// The line for which the load was started.
    let first: Waiter
    /// The other lines that request the URL.
    var others: [Waiter] = []
    /// The file of an earlier run, if the run looks for it.
    var earlier: EarlierFile?
    /// The load, while it is in progress.
    var load: Load?
    /// Whether the load asks for the image only if it has changed. Then it follows no redirect.
    var isConditional = false
    /// The name of the file of an earlier run that this one replaces.
    var ownName: String?
    /// The time at which the load began.
    var startedAt: MonotonicTime
    /// The number of the task in the pipeline's events, once the load has begun.
    var taskNumber: ImagePipeline.Event.TaskNumber = 0
    /// The number of body bytes received so far, for the progress line.
    var receivedBytes: Int64 = 0
    /// The files of the previews.
    var previews: [String] = []
    /// Those that are being written.
    var unfinishedPreviews: [Task<Void, Never>] = []
    /// The source for a thumbnail, if one is requested.
    var thumbnailSubject: ThumbnailSubject?
    /// The beginning of the previews' names, once there is one.
    var previewStem: String?

    init(id: Int, url: ResourceURL, key: String, chosenName: String?, first: Waiter) {
        self.id = id
        self.url = url
        self.key = key
        self.chosenName = chosenName
        self.first = first
        startedAt = first.requestedAt
    }

    func endLoad(_ result: Result<BodyProcessor.Loaded, LoadError>) {
        load.take()?.pause.end(with: result)
    }

    /// Cancels the load, if it is in progress. The engine delivers nothing afterwards.
    func cancelLoad() {
        load?.task.cancel()
        endLoad(.failure(LoadError(.cancelled, stage: .request, message: "The run was stopped.")))
    }

    /// The URL as spelled in the first line.
    var text: String { first.text }

    /// The key of the URL in the index of the output folder.
    private(set) lazy var indexKey = IndexRecord.key(of: key)

    /// The key of a preview in the index.
    func indexKey(ofPreview number: Int) -> String { IndexRecord.key(of: "\(key)\npreview \(number)") }
}
