import Foundation
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport

// The forms in which a caller loads. Each returns the handle that cancels the load.
extension Caller {
    func loadWithCallbacks(_ generation: Generation, _ random: inout SeededGenerator) -> (Record, ImageTask?) {
        let record = Record(
            .callback, RequestSpec(using: &random), generation, place: anyPlace(&random), mood: random.next(),
            caller: self)
        return (record, begin(record, wantsPicture: random.below(2) == 0, priority: random.priority()))
    }

    private func begin(_ record: Record, wantsPicture: Bool, priority: ImageRequest.Priority) -> ImageTask {
        record.asks()
        let task = ask(record, wantsPicture: wantsPicture, priority: priority)
        record.asked(task)
        did(.callback)
        return task
    }

    /// A separate function, so that nothing retains its closures after it has returned.
    @inline(never)
    private func ask(_ record: Record, wantsPicture: Bool, priority: ImageRequest.Priority) -> ImageTask {
        guard let place = record.place else { preconditionFailure("callbacks need a place") }
        let pipeline = record.generation.pipeline
        let request = record.spec.request(record.generation.itemServer, priority: priority)
        let ticket = Ticket(record)
        guard wantsPicture else {
            return pipeline.loadResponse(request, on: place.queue) { task, progress in
                ticket.record.progressed(task, progress)
            } completion: { task, result in
                ticket.record.ended(task, Record.Outcome(result))
            }
        }
        guard place.kind == .main else {
            return pipeline.load(request, on: place.queue) { task, progress in
                ticket.record.progressed(task, progress)
            } completion: { task, result in
                ticket.record.ended(task, Record.Outcome(result))
            }
        }
        return pipeline.load(request, on: .main) { task, progress in
            ticket.record.progressed(task, progress)
        } completion: { task, result in
            ticket.record.ended(task, Record.Outcome(result))
        }
    }

    /// Reacts inside a callback, which may call back into anything.
    func react(to record: Record, _ task: ImageTask?, isEnding: Bool) {
        switch record.mood & 15 {
        case 0:
            record.cancel(task)
            if isEnding, task?.isCancelled == true { record.violation(3, "a cancel inside the completion took effect") }
            did(.cancel)
        case 1 where !isEnding && record.place != nil:
            record.cancelOnOwnQueue(task)
            did(.cancelOnOwnQueue)
        case 2:
            record.setPriority(record.mood & 16 == 0 ? .veryHigh : .veryLow)
            did(.priority)
        case 3 where record.place != nil && hasRoom && !world.isOver:
            // Subscribes to its own job, or starts a new one.
            let next = Record(.callback, record.spec, world.generation, place: record.place, caller: self)
            _ = begin(next, wantsPicture: true, priority: .normal)
        case 4: lookUp(record.generation, record.spec)
        default: break
        }
    }

    func loadAwaited(_ generation: Generation, _ random: inout SeededGenerator) -> (Record, ImageTask?) {
        let record = Record(.awaited, RequestSpec(using: &random), generation, mood: random.next(), caller: self)
        let request = record.spec.request(generation.itemServer, priority: random.priority())
        let goal = random.below(5)
        let ticket = Ticket(record)
        let handle = Task {
            let outcome = await Record.Outcome(of: request, goal: goal, generation.pipeline)
            ticket.record.ended(nil, outcome)
        }
        record.asked(nil, cancelOther: { handle.cancel() })
        did(.awaited)
        return (record, nil)
    }

    func loadAsStream(_ generation: Generation, _ random: inout SeededGenerator) -> (Record, ImageTask?) {
        let record = Record(.stream, RequestSpec(using: &random), generation, mood: random.next(), caller: self)
        let events = generation.pipeline.events(
            for: record.spec.request(generation.itemServer, priority: random.priority()))
        let task = events.task
        record.asked(task)
        let ticket = Ticket(record)
        let leavesEarly = random.below(3) == 0
        did(.stream)
        // Dropped before any event was requested.
        if random.below(10) == 0 { return (record, task) }
        Task {
            var iterator = events.makeAsyncIterator()
            while let event = await iterator.next() {
                switch event {
                case .progress(let progress): ticket.record.progressed(nil, progress)
                case .preview: break
                case .stale(let image): ticket.record.wasShownStale(image)
                case .success(let image): ticket.record.ended(nil, .picture(image.pixels))
                case .failure(let error): ticket.record.ended(nil, .failure(error))
                }
                if leavesEarly { break }
            }
        }
        return (record, task)
    }

    func loadAsOperation(_ generation: Generation, _ random: inout SeededGenerator) -> (Record, ImageTask?) {
        let record = Record(.operation, RequestSpec(using: &random), generation, caller: self)
        let request = record.spec.request(generation.itemServer)
        if random.below(2) == 0 {
            run(LoadOperation(image: request, pipeline: generation.pipeline), record, &random) { .init($0) }
        } else {
            run(LoadOperation(response: request, pipeline: generation.pipeline), record, &random) { .init($0) }
        }
        did(.operation)
        return (record, nil)
    }

    private func run<Output>(
        _ operation: LoadOperation<Output>, _ record: Record, _ random: inout SeededGenerator,
        outcome: @escaping @Sendable (Result<Output, LoadError>) -> Record.Outcome
    ) {
        operation.priority = random.priority()
        let ticket = Ticket(record)
        operation.completionBlock = {
            // Cancelled by its caller, or by another caller that cancelled all operations of the queue.
            if operation.isCancelled { ticket.record.wasCancelledByOthers() }
            if let result = operation.result, operation.isFinished {
                ticket.record.ended(nil, outcome(result))
            } else {
                ticket.record.violation(3, "an operation finished without a result")
            }
        }
        record.asked(
            nil,
            // Weak, because the record holds this closure. A cycle would retain the caller and all it references.
            cancelOther: { [weak record, weak operation] in
                guard let operation else { return }
                let wasExecuting = operation.isExecuting
                operation.cancel()
                if wasExecuting, !operation.isFinished {
                    record?.violation(3, "an executing operation was not finished by its cancel")
                }
            })
        world.loadQueues[random.below(world.loadQueues.count)].addOperation(operation)
    }
}

extension Record.Outcome {
    init(_ result: Result<LoadedImage, LoadError>) {
        switch result {
        case .success(let image): self = .picture(image.pixels)
        case .failure(let error): self = .failure(error)
        }
    }

    init(_ result: Result<LoadedResponse, LoadError>) {
        switch result {
        case .success(let response): self = .bytes(response.body)
        case .failure(let error): self = .failure(error)
        }
    }

    /// Awaits an image, bytes, or header information.
    init(of request: ImageRequest, goal: Int, _ pipeline: ImagePipeline) async {
        do throws(LoadError) {
            switch goal {
            case 0, 1: self = .picture(try await pipeline.image(for: request).pixels)
            case 2, 3: self = .bytes(Bytes(Array(try await pipeline.data(for: request))))
            default:
                let info = try await pipeline.info(for: request).info
                self =
                    info.storedWidth == 2
                    ? .right : .failure(LoadError(.damaged, stage: .decode, message: "The header of another image."))
            }
        } catch {
            self = .failure(error)
        }
    }
}
