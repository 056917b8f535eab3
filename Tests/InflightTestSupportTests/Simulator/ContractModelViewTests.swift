import InflightContract
import InflightCore
import Testing

/// The model receives the events of a broken loader or prefetcher and must name the violated rule.
@Suite("Contract model: loaders and prefetchers", .timeLimit(.minutes(10)))
struct ContractModelViewTests {
    private let model = ContractModel(bounds: Bounds())
    private let spec = RequestSpec(kind: .image, resource: 1, origin: 0)
    private let other = RequestSpec(kind: .image, resource: 2, origin: 0)

    private func onQueue(_ queue: Int) -> CallContext {
        var context = CallContext()
        context.queue = queue
        return context
    }

    private func start(_ serial: Int, resource: UInt8, priority: ImageRequest.Priority = .normal) {
        model.exchangeStarts(
            serial, kind: .image, resource: resource, language: 1, origin: 0, priority: priority)
    }

    private func show(_ loader: Int, _ state: ImageLoader.State) {
        model.loader(loader, shows: state) { _ in Content(resource: 0, language: 0, exchange: 0) }
    }

    private var failure: LoadError { LoadError(.badStatus, stage: .fetch, message: "") }

    @Test("The model accepts a loader that shows the failure of its load")
    func allWell() {
        let loader = model.loaderIsCreated(queue: 0)
        show(loader, .idle)
        model.loader(loader, sets: spec, priority: .normal)
        show(loader, .loading(nil))
        start(0, resource: 1)
        model.exchangeEnds(0, .failure(.badStatus))
        let task = model.handlerBegins(loader, at: onQueue(0))
        model.loader(loader, endsWith: .failure(.badStatus), of: task ?? -1, at: onQueue(0))
        model.callbackReturned(task ?? -1)
        show(loader, .failed(failure))
        model.finishes()
        #expect(model.violation == nil)
    }

    @Test("Contract 4: A callback to a loader that has cancelled its request is a violation")
    func lateAnswer() {
        let loader = model.loaderIsCreated(queue: 0)
        model.loader(loader, sets: spec, priority: .normal)
        start(0, resource: 1)
        model.loaderCancels(loader)
        #expect(model.handlerBegins(loader, at: onQueue(0)) == nil)
        #expect(model.violation?.rule == 4)
    }

    @Test("Contracts 1, 2, 10: A handler run or released on a wrong queue, or run inside a call, is a violation")
    func places() {
        for (rule, context) in [
            (1, onQueue(1)),
            (
                2,
                {
                    var context = onQueue(0); context.using = 0; return context
                }()
            ),
        ] {
            let model = ContractModel(bounds: Bounds())
            model.loader(model.loaderIsCreated(queue: 0), sets: spec, priority: .normal)
            _ = model.handlerBegins(0, at: context)
            #expect(model.violation?.rule == rule)
        }
        let loader = model.loaderIsCreated(queue: 0)
        model.handlerIsSet(loader)
        model.handlerIsReleased(loader, at: onQueue(1))
        #expect(model.violation?.rule == 10)
    }

    @Test("Contract 7: A loader that drops shared work it needs, or loads after release, is a violation")
    func sharing() {
        let loader = model.loaderIsCreated(queue: 0)
        model.loader(loader, sets: spec, priority: .normal)
        start(0, resource: 1)
        var larger = spec
        larger.size = 1
        model.loader(loader, sets: larger, priority: .normal)
        #expect(model.violation == nil)
        model.exchangeIsCancelled(0)
        #expect(model.violation?.rule == 7)

        let released = ContractModel(bounds: Bounds())
        released.loader(released.loaderIsCreated(queue: 0), sets: spec, priority: .normal)
        released.exchangeStarts(0, kind: .image, resource: 1, language: 1, origin: 0, priority: .normal)
        released.loaderIsReleased(0)
        released.checkIdle(ImagePipeline.Statistics())
        #expect(released.violation?.rule == 7)
    }

    @Test("Contract 3: A loader that shows a result that has not arrived is a violation")
    func wrongState() {
        let loader = model.loaderIsCreated(queue: 0)
        model.loader(loader, sets: spec, priority: .normal)
        show(loader, .failed(failure))
        #expect(model.violation?.rule == 3)
    }

    @Test("Contract 7: A prefetcher that sends too early, after a stop or over its limit is a violation")
    func prefetching() {
        for sends in [[UInt8](), [1]] {
            let model = ContractModel(bounds: Bounds())
            model.prefetcherIsCreated(queue: 4, limit: 1, room: nil)
            model.prefetcherStarts([other, spec])
            if !sends.isEmpty {
                model.prefetcherStops([spec])
                model.turnEnds()
            }
            model.exchangeStarts(0, kind: .image, resource: 1, language: 1, origin: 0, priority: .veryLow)
            #expect(model.violation?.rule == 7)
        }
        model.prefetcherIsCreated(queue: 4, limit: 1, room: nil)
        model.prefetcherStarts([other, spec])
        model.turnEnds()
        start(0, resource: 2, priority: .veryLow)
        #expect(model.violation == nil)
        start(1, resource: 1, priority: .veryLow)
        #expect(model.violation?.rule == 7)
    }

    @Test("Contract 7: A prefetcher that returns bytes it does not hold, or counts wrongly, is a violation")
    func kept() {
        model.prefetcherIsCreated(queue: 4, limit: 1, room: 1)
        model.prefetcherStarts([spec])
        var statistics = Prefetcher.Statistics()
        statistics.requested = 1
        model.prefetcherReports(statistics, bodySize: 16)
        #expect(model.violation == nil)
        model.prefetcherReturned(0, for: spec)
        #expect(model.violation?.rule == 7)

        let other = ContractModel(bounds: Bounds())
        other.prefetcherIsCreated(queue: 4, limit: 1, room: 1)
        other.prefetcherReports(statistics, bodySize: 16)
        #expect(other.violation?.rule == 7)
    }
}
