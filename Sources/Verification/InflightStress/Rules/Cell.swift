import InflightConcurrency
import InflightCore

/// A cell on the screen. Its loader must show and deliver only the latest request that it was bound to.
///
/// Everything happens on the loader's queue.
final class Cell: Sendable {
    private struct State: Sendable {
        var spec: RequestSpec?
        /// Whether the cell is stopped. Then nothing may be delivered until it is bound or started again.
        var isSilent = true
        var lastBytes: Int64 = -1
    }

    private let place: Place
    private let generation: Generation
    private let caller: Caller
    private let state = Guarded(State())
    private let loader: ConfinedReference<ImageLoader>

    init(_ generation: Generation, _ place: Place, caller: Caller) {
        self.generation = generation
        self.place = place
        self.caller = caller
        loader = ConfinedReference(ImageLoader(pipeline: generation.pipeline, callbackQueue: place.queue))
        submit { cell, loader in
            loader.onChange = { [weak cell] loader in cell?.changed(loader) }
        }
    }

    func bind(_ spec: RequestSpec?, _ priority: ImageRequest.Priority) {
        submit { cell, loader in
            cell.state.withLock { $0 = State(spec: spec, isSilent: spec == nil) }
            loader.request = spec?.request(cell.generation.itemServer, priority: priority)
            cell.look(at: loader)
        }
    }

    func cancel() {
        submit { cell, loader in
            loader.cancel()
            cell.state.withLock { $0.isSilent = true }
        }
    }

    func start() {
        submit { cell, loader in
            cell.state.withLock { $0 = State(spec: $0.spec, isSilent: $0.spec == nil) }
            loader.start()
            cell.look(at: loader)
        }
    }

    /// Work that is pending on the queue counts as one of the caller's loads in flight, so that it does not pile up.
    private func submit(_ body: @escaping @Sendable (Cell, ImageLoader) -> Void) {
        let slot = Slot(caller)
        loader.submit { [weak self] loader in
            slot.touch()
            if let self { body(self, loader) }
        }
    }

    private func changed(_ loader: ImageLoader) {
        if !place.queue.isCurrent { violation(1, "a loader's handler ran on \(CallbackQueue.currentName)") }
        state.withLock { state in
            if state.isSilent { violation(4, "a loader called its handler after it was stopped") }
            guard case .loading(let progress?) = loader.state else { return }
            if progress.receivedBytes <= state.lastBytes { violation(5, "a loader's progress went backwards") }
            state.lastBytes = progress.receivedBytes
        }
        look(at: loader)
    }

    private func look(at loader: ImageLoader) {
        let spec = state.withLock { $0.spec }
        switch loader.state {
        case .idle, .loading: break
        case .loaded(let image):
            guard let spec else { return violation(4, "a loader without a request shows an image") }
            if let complaint = spec.complaint(about: image.pixels) { violation(7, "a loader shows " + complaint) }
            caller.count(.success)
        case .failed(let error):
            if spec?.mayFail(with: error.code) == true { return caller.count(.expectedFailure) }
            if error.code == .shutDown, generation.isEnding { return caller.count(.shutDown) }
            violation(3, "a loader failed without a reason: \(error)")
        }
    }

    private func violation(_ rule: Int, _ text: String) {
        caller.log.violation(rule, "\(text) [loader on \(place.kind.rawValue), caller \(caller.index)]")
    }
}
