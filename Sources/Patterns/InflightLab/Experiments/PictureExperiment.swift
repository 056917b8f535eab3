internal import Dispatch
internal import Inflight
internal import InflightConcurrency

extension Experiment {
    /// An image loaded in four ways.
    static let picture = Experiment(
        name: "picture", title: "An image loaded in four ways",
        lookAt: "The image is the same. Which threads are blocked until it arrives?",
        platform: """
            URLSession is slow here, and Data(contentsOf:) uses it, so the blocking ways read the socket themselves. The \
            engine waits for all of its loads on one thread.
            """
    ) { stage throws(LabError) in
        try LoadMethod.allCases.map { way throws(LabError) in try way.scene(stage) }
    }
}

private enum LoadMethod: CaseIterable {
    case blocking, workItem, callback, awaiting

    private static let (background, main, engine) = ("background queue", "main queue", "engine")
    private static let wanted = 77

    private var title: String {
        switch self {
        case .blocking: "A blocking call on a background queue"
        case .workItem: "A blocking work item, with notify on the main queue"
        case .callback: "pipeline.load, with a callback on the main queue"
        case .awaiting: "try await pipeline.image"
        }
    }

    func scene(_ stage: Stage) throws(LabError) -> Scene {
        let pipeline = try LabImages.pipeline()
        defer { pipeline.shutDownAndWait() }
        let source = try LabServer()
        let png = try LabImages.png(Self.wanted, side: 128, codecs: pipeline.codecs)
        source.serve(
            "/picture.png",
            [
                .pause(stage.units(2)), .bytes(Array(png.prefix(200))), .pause(stage.units(2)),
                .bytes(Array(png.dropFirst(200))),
            ])
        let recorder = Recorder(tracks: ["caller", isBlocking ? Self.background : Self.engine, Self.main])
        let shown = Guarded(-1)
        let done = DispatchSemaphore(value: 0)
        let show: @Sendable (PixelBuffer?) -> Void = { pixels in
            recorder.span(Self.main, "displays") {
                shown.withLock { $0 = pixels.map { LabImages.number(of: $0) } ?? -1 }
            }
            done.signal()
        }
        recorder.mark("caller", "load")
        start(pipeline, source, recorder, show)
        recorder.span("caller", "goes on") { stage.rest() }
        done.wait()
        let recording = recorder.recording
        let blocked = recording.spans.filter { $0.kind == .wait }
        let time = blocked.reduce(0) { $0 + $1.duration(until: recording.duration) }
        return Scene(
            title, recording,
            findings: [
                blocked.isEmpty
                    ? "No thread of the program was blocked." : "A thread was blocked for \(Milliseconds.text(time))."
            ], hasFailed: shown.withLock { $0 } != Self.wanted)
    }

    private var isBlocking: Bool { self == .blocking || self == .workItem }

    private func start(
        _ pipeline: ImagePipeline, _ source: LabServer, _ recorder: Recorder,
        _ show: @escaping @Sendable (PixelBuffer?) -> Void
    ) {
        let (port, codecs) = (source.port, pipeline.codecs)
        let bytes = Guarded<[UInt8]?>(nil)
        let download: @Sendable () -> Void = {
            let body = recorder.span(Self.background, "download", .wait) {
                BlockingDownload.body(port: port, path: "/picture.png")
            }
            bytes.withLock { $0 = body }
        }
        let decode: @Sendable (String) -> PixelBuffer? = { track in
            recorder.span(track, "decodes") {
                let body = Bytes(bytes.withLock { $0 } ?? [])
                return try? codecs.decode(body, options: DecodeOptions(), cancellation: CancellationFlag()).0
            }
        }
        let request = ImageRequest(source.url("/picture.png"))
        switch self {
        case .blocking:
            DispatchQueue(label: "lab.background").async {
                download()
                let pixels = decode(Self.background)
                DispatchQueue.main.async { show(pixels) }
            }
        case .workItem:
            let item = DispatchWorkItem(block: download)
            item.notify(queue: .main) { show(decode(Self.main)) }
            DispatchQueue(label: "lab.background").async(execute: item)
        case .callback:
            let span = recorder.begin(Self.engine, "loads", .away)
            pipeline.load(request, on: .queue(.main)) { _, result in
                span.end()
                show(try? result.get().pixels)
            }
        case .awaiting:
            Task {
                let span = recorder.begin(Self.engine, "await", .away)
                let image = try? await pipeline.image(for: request)
                span.end()
                await MainActor.run { show(image?.pixels) }
            }
        }
    }
}
