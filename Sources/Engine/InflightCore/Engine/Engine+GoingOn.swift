import InflightConcurrency

// How a task continues after a result that does not end it: with a fallback, with a refetch after a stored response was
// useless, or with the revalidation of a stale image.

extension Engine {
    enum Way {
        case end
        /// The task failed, and has a fallback or a refetch.
        case elsewhere(LoadError)
        /// The task receives a stale image, and waits for its revalidation.
        case behindStale

        var isEnd: Bool { if case .end = self { true } else { false } }
    }

    func way(on task: ImageTask, after result: JobResult) -> Way {
        if let error = result.error(for: task.goal) {
            return result.isOfStored || task.hasFallback ? .elsewhere(error) : .end
        }
        return result.isFollowedImage && task.hearsStale ? .behindStale : .end
    }

    /// The task's load has failed. It continues with its next request, if it has one, or ends.
    ///
    /// - Parameter wasTaken: whether the task was admitted before. A graceful shutdown finishes such tasks.
    func fail(_ task: ImageTask, _ failure: JobResult, wasTaken: Bool) {
        var failure = failure
        if failure.isOfStored, let (request, prefix) = task.takeProcessedLookUp() {
            if let prefix, look(for: prefix, of: request, task, wasTaken: true) { return }
            goesElsewhere(task, "The processed image is not cached.")
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal), wasTaken: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isOfStored, let request = task.takeRefetch() {
            goesElsewhere(task, "The cached response is unusable: \(failure.error?.message ?? "")")
            log(.notice, "the cached response is unusable: loading it again") {
                [("url", URLParts.shown(request.url)), ("because", failure.error?.description ?? "")]
            }
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal, purpose: .refetch), wasTaken: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        while let request = task.takeFallback() {
            goesElsewhere(task, "The load failed and continues with a fallback: \(failure.error?.message ?? "")")
            log(.notice, "loading a fallback") {
                [("url", URLParts.shown(request.url)), ("because", failure.error?.description ?? "")]
            }
            do throws(LoadError) {
                return begin(task, plan: try plan(request, goal: task.goal), wasTaken: wasTaken)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        task.didEnd(failure)
    }

    /// Gives the task a stale image, and submits the revalidation.
    func goOn(_ task: ImageTask, behind stale: JobResult) {
        guard task.didReceiveStale(stale) else { return }
        goesElsewhere(task, "The cached image is stale and was delivered. It is being revalidated.")
        do throws(LoadError) {
            let plan = try plan(
                task.currentRequest, goal: task.goal, purpose: .revalidation(ofPicture: task.goal == .image))
            submit(task, plan: plan, wasTaken: true)
        } catch {
            task.didEnd(JobResult(.failure(error)))
        }
    }
}
