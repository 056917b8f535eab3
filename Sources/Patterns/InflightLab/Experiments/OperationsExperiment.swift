internal import Dispatch
internal import Foundation
internal import Inflight
internal import InflightFoundation

extension Experiment {
    /// An operation that waits on a semaphore, beside `LoadOperation`.
    static let operations = Experiment(
        name: "operations", title: "Blocking and asynchronous operations",
        lookAt:
            "Six loads in one OperationQueue with six slots. How many are in flight at once, and on how many threads?",
        platform: """
            An OperationQueue's threads come from the pool, which has few (see concurrent). Operations that wait use them \
            up, and their callbacks need a thread, too: nothing ends before the pool has grown, by one thread a second. On \
            Apple's systems it grows as soon as its threads sleep, up to 64.
            """
    ) { stage throws(LabError) in
        [try Self.waiting(stage), try Self.loading(stage)]
    }

    private static let loads = 6
    private static let track = "operations"

    private static func prepared(_ parts: [LabServer.Part]) throws(LabError) -> LabServer {
        let source = try LabServer()
        for number in 1...loads { source.serve("/\(number)", parts + [.bytes([UInt8](repeating: 0x2A, count: 1000))]) }
        return source
    }

    private static func queue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = loads
        return queue
    }

    private static func waiting(_ stage: Stage) throws(LabError) -> Scene {
        let source = try prepared([.pause(stage.units(3))])
        let pipeline = try LabImages.pipeline()
        let recorder = Recorder(tracks: [track])
        let queue = queue()
        for number in 1...loads {
            let request = ImageRequest(source.url("/\(number)"))
            queue.addOperation {
                recorder.span(track, "\(number)", .wait) {
                    let semaphore = DispatchSemaphore(value: 0)
                    pipeline.loadResponse(request, on: .queue(.global())) { _, _ in semaphore.signal() }
                    semaphore.wait()
                }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        pipeline.shutDownAndWait()
        let recording = recorder.recording
        return Scene(
            "Each operation waits on a semaphore", recording,
            findings: [
                "At most \(recording.peakConcurrency(recording.spans)) in flight at once, each blocking a thread: "
                    + "\(Phrase.threads(recording.threads(recording.spans))), and \(Milliseconds.text(recording.duration)) "
                    + "instead of \(Milliseconds.text(stage.units(3).saturatedNanoseconds))."
            ])
    }

    static func loading(_ stage: Stage) throws(LabError) -> Scene {
        // The server responds only after all requests have arrived, which needs no thread for each operation.
        let source = try prepared([.gate("all have asked"), .pause(stage.units(3))])
        let pipeline = try LabImages.pipeline()
        let recorder = Recorder(tracks: [track])
        let queue = queue()
        let finished = DispatchGroup()
        for number in 1...loads {
            let operation = LoadOperation(response: ImageRequest(source.url("/\(number)")), pipeline: pipeline)
            let span = recorder.begin(track, "\(number)", .away)
            finished.enter()
            operation.completionBlock = {
                span.end()
                finished.leave()
            }
            queue.addOperation(operation)
        }
        let haveAsked = source.waitForRequests(loads, timeout: stage.timeout)
        let threads = ThreadCount.now
        source.open("all have asked")
        finished.wait()
        pipeline.shutDownAndWait()
        let recording = recorder.recording
        return Scene(
            "Each operation is a LoadOperation", recording,
            findings: [
                "\(recording.peakConcurrency(recording.spans)) in flight at once, and they blocked no thread: "
                    + "\(Milliseconds.text(recording.duration))."
                    + (threads.map {
                        " This process had \(Phrase.threads($0)) then, the server's and idle ones included."
                    }
                        ?? "")
            ], hasFailed: !haveAsked)
    }
}

/// The number of threads of this process.
enum ThreadCount {
    /// The current number; `nil` if the system does not report it.
    static var now: Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task"))?.count
    }
}
