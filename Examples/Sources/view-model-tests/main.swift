// Tests of a view model without a network and without waiting for time to pass: a scripted transport, a virtual clock,
// and a queue that the test runs by hand. They fit any test framework. Here a failed test prints the difference.

import Foundation
import Inflight
import InflightConcurrency
import InflightTestSupport

/// The code under test. An app creates it with `.queue(.main)`, and a test with a queue of its own.
final class PhotoModel: Confined {
    let confinement: CallbackQueue
    private let pipeline: ImagePipeline
    private var task: ImageTask?
    private(set) var text = "no photo"

    init(pipeline: ImagePipeline, on queue: CallbackQueue) {
        self.pipeline = pipeline
        confinement = queue
    }

    func show(_ url: String) {
        task?.cancel()
        text = "loading"
        // The callback receives the model, and does not retain it.
        let done = callback { (model, result: Result<LoadedImage, LoadError>) in
            model.text = (try? result.get()).map { "\($0.width) × \($0.height)" } ?? "failed"
        }
        task = pipeline.load(ImageRequest(url), on: confinement) { _, result in done(result) }
    }

    func close() {
        task?.cancel()
        text = "no photo"
    }
}

// A GIF of two by two pixels.
let gif = Bytes(Data(base64Encoded: "R0lGODlhAgACAIAAAP8AAAAA/ywAAAAAAgACAAACAwQABQA7")!)

func testPhotoModel() async throws {
    let transport = ScriptedTransport()
    let clock = VirtualClock()
    let queue = ManualQueue()
    var configuration = ImagePipeline.Configuration(transports: [.shared(transport)], codecs: .standard())
    configuration.clock = clock
    configuration.retry = RetryPolicy()
    let model = PhotoModel(pipeline: try ImagePipeline(configuration: configuration), on: queue.callbackQueue)
    func expect(_ text: String, _ test: String) {
        print(model.text == text ? "passed: \(test)" : "failed: \(test): “\(model.text)” instead of “\(text)”")
    }

    transport.serve("https://example.org/cat.gif", .ok(gif))
    model.show("https://example.org/cat.gif")
    try await queue.waitForWork()
    model.close()
    queue.runAll()
    expect("no photo", "a photo that is pending when the model closes is not shown")

    transport.serve("https://example.org/dog.gif", inOrder: [.status(503), .ok(gif)])
    model.show("https://example.org/dog.gif")
    try await clock.waitForTimers()
    expect("loading", "a transient failure is not shown")
    clock.advance(by: .seconds(1))
    try await queue.waitForWork()
    queue.runAll()
    expect("2 × 2", "the retry brings the photo")
}

try await testPhotoModel()

// Prints:
// passed: a photo that is pending when the model closes is not shown
// passed: a transient failure is not shown
// passed: the retry brings the photo
