internal import Dispatch
internal import Inflight
internal import InflightConcurrency

extension Experiment {
    /// A heartbeat on the main queue, while a download blocks it, and while it does not.
    static let heartbeat = Experiment(
        name: "heartbeat", title: "A heartbeat on the main queue",
        lookAt: "A timer ticks on the main queue. When does it stop, and for how long?",
        platform: """
            Here Foundation's run loop serves the main queue on the main thread, through an eventfd. A program that calls \
            dispatchMain() instead ends its main thread: other threads then serve the main queue, one at a time.
            """
    ) { stage throws(LabError) in
        [try Self.beats(stage, isBlocked: true), try Self.beats(stage, isBlocked: false)]
    }

    private static let main = "main queue"
    private static let download = "download"

    private static func beats(_ stage: Stage, isBlocked: Bool) throws(LabError) -> Scene {
        let source = try LabServer()
        let piece = [UInt8](repeating: 0x2A, count: 20_000)
        source.serve(
            "/slow",
            (0..<4).flatMap { _ in [.bytes(piece), .pause(stage.units(1.8))] } + [.gate("alive"), .bytes(piece)])
        let recorder = Recorder(tracks: [main, "network"])
        let beatTimer = BeatTimer(recorder, track: main, pause: stage.units(0.5))
        beatTimer.start()
        stage.rest(2)
        let received = Guarded(0)
        let done = DispatchSemaphore(value: 0)
        if isBlocked {
            source.open("alive")
            DispatchQueue.main.async {
                recorder.span(main, download, .wait) {
                    let body = BlockingDownload.body(port: source.port, path: "/slow")
                    received.withLock { $0 = body?.count ?? 0 }
                }
                done.signal()
            }
            done.wait()
        } else {
            let pipeline = try LabImages.pipeline()
            let span = recorder.begin("network", download, .away)
            pipeline.loadResponse(ImageRequest(source.url("/slow")), on: .queue(.main)) { _, result in
                span.end()
                recorder.span(main, "bytes") { received.withLock { $0 = (try? result.get().body.count) ?? 0 } }
                done.signal()
            }
            // The server does not finish before the timer has ticked twice more.
            let isAsked = source.waitForRequests(1, timeout: stage.timeout)
            let isAlive = isAsked && beatTimer.waitForBeats(2, timeout: stage.timeout)
            source.open("alive")
            done.wait()
            pipeline.shutDownAndWait()
            if !isAlive { recorder.mark(main, "no beat", isTrouble: true) }
        }
        stage.rest(2)
        beatTimer.stop()
        let recording = recorder.recording
        let beats = recording.marks(on: main)
        let pauses = zip(beats, beats.dropFirst()).map { $1.time - $0.time }
        let during = recording.span(download).map { span in beats.count { span.contains($0.order) } } ?? 0
        return Scene(
            isBlocked ? "The main queue reads the socket itself" : "The engine loads, and calls back on the main queue",
            recording,
            findings: [
                "\(Phrase.counted(during, "beat")) during the download of \(received.withLock { $0 }) bytes; "
                    + "the longest pause between two was \(Milliseconds.text(pauses.max() ?? 0))."
            ], hasFailed: received.withLock { $0 } != 5 * piece.count || recording.mark("no beat") != nil)
    }
}

/// Beats on the main queue until it is stopped. Each beat schedules the next.
private final class BeatTimer: Sendable {
    private let recorder: Recorder
    private let track: String
    private let pause: Duration
    private let isStopped = CancellationFlag()
    private let stopped = DispatchGroup()
    private let beats = DispatchSemaphore(value: 0)

    init(_ recorder: Recorder, track: String, pause: Duration) {
        self.recorder = recorder
        self.track = track
        self.pause = pause
    }

    func start() {
        stopped.enter()
        DispatchQueue.main.async { self.beat() }
    }

    /// Returns when no beat will follow. Do not call it on the main queue.
    func stop() {
        isStopped.cancel()
        stopped.wait()
    }

    /// - Returns: Whether that many more beats occurred in time.
    func waitForBeats(_ count: Int, timeout: Duration) -> Bool {
        while beats.wait(timeout: .now()) == .success {}
        let deadline = DispatchTime.now() + .nanoseconds(Int(timeout.saturatedNanoseconds))
        return (0..<count).allSatisfy { _ in beats.wait(timeout: deadline) == .success }
    }

    private func beat() {
        if isStopped.isCancelled { return stopped.leave() }
        recorder.mark(track, "beat")
        beats.signal()
        DispatchQueue.main.asyncAfter(deadline: .now() + .nanoseconds(Int(pause.saturatedNanoseconds))) { self.beat() }
    }
}
