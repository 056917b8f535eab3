import InflightConcurrency

// What is counted of a task, and what listeners are told of it.

extension ImageTask {
    /// Its work begins. A task that was cancelled before is never heard of.
    func begins(_ telemetry: Telemetry) {
        let url = plan?.url.string ?? URLParts.shown(request.url)
        let now = telemetry.now
        noteBegin { telemetry.record(.asked(url: url), task: number, at: now) }
        telemetry.handOut()
    }

    /// What it is to be given.
    func outcome(_ result: JobResult, isShared: Bool) -> PipelineEvent.Outcome {
        if let error = result.error(for: goal) { return .failure(error.code) }
        switch result.value {
        case .image(let image): return .success(Self.source(image.source, isShared))
        case .response(let response): return .success(Self.source(response.source, isShared))
        case .info(let info): return .success(info.source)
        case .failure(let error): return .failure(error.code)
        }
    }

    private static func source(_ source: LoadSource, _ isShared: Bool) -> LoadSource {
        isShared && source == .network ? .shared : source
    }

    private func noteBegin(_ body: () -> Void) {
        stripe.lock.withLock {
            guard state.isWaiting else { return }
            state.isHeard = true
            body()
        }
    }

    /// Records an event of a task that was heard of. Called with the lock held: it calls nobody.
    ///
    /// - Parameter time: `nil` where nobody listens.
    func record(_ kind: PipelineEvent.Kind, at time: MonotonicTime?) {
        guard let time, state.isHeard else { return }
        engine.telemetry?.record(kind, task: number, at: time)
    }
}
