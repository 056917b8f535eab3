import InflightConcurrency

// Metrics and events of a task.

extension ImageTask {
    /// Reports that the task begins. A task that was cancelled before is never reported.
    func begins(_ telemetry: Telemetry) {
        let url = plan?.url.string ?? URLParts.shown(request.url)
        let now = telemetry.now
        stripe.lock.withLock {
            guard state.isWaiting else { return }
            state.isObserved = true
            telemetry.record(.requested(url: url), task: number, at: now)
        }
        telemetry.flush()
    }

    /// Returns the outcome that the task is about to be given.
    func outcome(_ result: JobResult, isShared: Bool) -> ImagePipeline.Event.Outcome {
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

    /// Records an event of a task that was reported. Called with the lock held, so it calls no observer.
    ///
    /// - Parameter time: if nil, there is no observer.
    func record(_ kind: ImagePipeline.Event.Kind, at time: MonotonicTime?) {
        guard let time, state.isObserved else { return }
        driver.scheduler.telemetry?.record(kind, task: number, at: time)
    }
}
