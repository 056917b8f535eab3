import InflightConcurrency

/// Makes pixels of the bytes that a fetch gave.
// Unchecked: `input` is written before the machine lets the job start, with the engine's lock taken in between.
final class DecodeJob: EngineJob, @unchecked Sendable {
    private let plan: RequestPlan
    private let cancellation = CancellationFlag()
    private var input: JobResult?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    override func feed(_ result: JobResult) {
        input = result
    }

    override func start(priority: LoadPriority) {
        engine.workers.run { self.work() }
    }

    override func cancel() {
        cancellation.cancel()
    }

    private func work() {
        let input = input.take()
        guard case .response(let response) = input?.value else {
            preconditionFailure("a decode was started without bytes")
        }
        do throws(LoadError) {
            if cancellation.isCancelled { throw LoadError.cancelled(url: plan.url.string, stage: .decode) }
            let (pixels, info) = try engine.codecs.decode(
                response.body, options: RequestPlan.decodeOptions(plan.request), cancellation: cancellation)
            let image = LoadedImage(
                pixels: pixels, info: info, head: response.head, url: response.url,
                bodyBytes: Int64(response.body.count), wireBytes: response.wireBytes, source: response.source)
            engine.jobEnded(self, with: JobResult(.image(image)), cachedAs: plan.decodeKey)
        } catch {
            let explained = error.naming(contentType: response.head.fields["content-type"])
            engine.jobEnded(self, with: JobResult(.failure(explained.about(url: plan.url.string))))
        }
    }
}

/// Applies one processor to the picture that the step before gave.
// Unchecked: `input` is written before the machine lets the job start, with the engine's lock taken in between.
final class ProcessJob: EngineJob, @unchecked Sendable {
    private let plan: RequestPlan
    private let position: Int
    private let cancellation = CancellationFlag()
    private var input: JobResult?

    /// - Parameter position: which of the request's processors it is.
    init(engine: Engine, id: ID, plan: RequestPlan, position: Int) {
        self.plan = plan
        self.position = position
        super.init(engine: engine, id: id)
    }

    override func feed(_ result: JobResult) {
        input = result
    }

    override func start(priority: LoadPriority) {
        engine.workers.run { self.work() }
    }

    override func cancel() {
        cancellation.cancel()
    }

    private func work() {
        let input = input.take()
        guard case .image(var image) = input?.value else {
            preconditionFailure("a processor was started without a picture")
        }
        do throws(LoadError) {
            if cancellation.isCancelled { throw LoadError.cancelled(url: plan.url.string, stage: .process) }
            image.pixels = try plan.request.processors[position].process(image.pixels, cancellation: cancellation)
            engine.jobEnded(self, with: JobResult(.image(image)), cachedAs: plan.processKeys[position])
        } catch {
            engine.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
        }
    }
}

extension LoadError {
    static func cancelled(url: String?, stage: Stage) -> LoadError {
        LoadError(.cancelled, stage: stage, url: url, message: "The load was cancelled.")
    }
}
