import InflightConcurrency

// How a task goes on after what it was given, where that is no ending: with a fallback, with what its origin has instead
// of something useless that was stored, or with what follows something stale.

extension Engine {
    enum Way {
        case end
        /// It failed, and there is something else to ask.
        case elsewhere(LoadError)
        /// It was given what is stale, and waits for what follows.
        case behindStale

        var isEnd: Bool { if case .end = self { true } else { false } }
    }

    func way(on task: ImageTask, after result: JobResult) -> Way {
        if let error = result.error(for: task.goal) {
            return result.isOfStored || task.hasFallback ? .elsewhere(error) : .end
        }
        return result.isFollowedImage && task.hearsStale ? .behindStale : .end
    }

    /// The task's load has failed: it goes on with its next fallback, if it has one, or ends.
    ///
    /// - Parameter wasTaken: whether it was under way: what was begun is finished, while a pipeline is closing too.
    func fail(_ task: ImageTask, _ failure: JobResult, wasTaken: Bool) {
        var failure = failure
        if failure.isOfStored, let (request, prefix) = task.takeProcessedLookUp() {
            if let prefix, look(for: prefix, of: request, task, wasTaken: true) { return }
            goesElsewhere(task, "The picture is not stored as it is asked for.")
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal), wasTaken: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isOfStored, let request = task.takeRefetch() {
            goesElsewhere(task, "What is stored is of no use: \(failure.error?.message ?? "")")
            log(.notice, "what is stored is of no use: asked for once more") {
                [("url", URLParts.shown(request.url)), ("because", failure.error?.description ?? "")]
            }
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal, purpose: .refetch), wasTaken: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        while let request = task.takeFallback() {
            goesElsewhere(task, "It failed, and has a fallback: \(failure.error?.message ?? "")")
            log(.notice, "asking elsewhere") {
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

    /// The task hears what is stale, and waits for what follows.
    func goOn(_ task: ImageTask, behind stale: JobResult) {
        guard task.didReceiveStale(stale) else { return }
        goesElsewhere(task, "What is stored is stale, and was shown; its origin is asked for what follows.")
        do throws(LoadError) {
            let plan = try plan(
                task.currentRequest, goal: task.goal, purpose: .revalidation(ofPicture: task.goal == .image))
            submit(task, plan: plan, wasTaken: true)
        } catch {
            task.didEnd(JobResult(.failure(error)))
        }
    }
}
