import InflightConcurrency

// Pictures that are stored as they were asked for: looked for before anything else, and kept when they are made.

extension Engine {
    /// Sets a task's work going: with a look for the finished picture, where such are kept.
    ///
    /// - Parameter wasTaken: whether the task was under way before.
    func begin(_ task: ImageTask, plan: RequestPlan, wasTaken: Bool = false) {
        if store != nil, plan.looksForProcessed, findInMemory(plan) == nil {
            let count = plan.request.processors.count
            task.looksForProcessed(prefix: count)
            if look(for: count, of: plan.request, task, wasTaken: wasTaken) { return }
        }
        submit(task, plan: plan, wasTaken: wasTaken)
    }

    /// Has a task look for the stored image that the first `count` processors made.
    func look(for count: Int, of request: ImageRequest, _ task: ImageTask, wasTaken: Bool) -> Bool {
        guard let lookUp = try? plan(request, goal: .image, purpose: .processed(prefix: count)) else { return false }
        submit(task, plan: lookUp, wasTaken: wasTaken)
        return true
    }

    /// How the picture of a job is to be written for a store; `nil` where nobody who waits for it wants that.
    func storedOptions(_ id: Machine.JobID) -> EncodeOptions? {
        var options: EncodeOptions?
        readMachine { machine in
            machine.forEachOwnTask(of: id) { task in options = options ?? task.storedForm.processedOptions }
        }
        return options
    }

    /// Whether anybody who waits for a job's bytes wants something of `form` kept.
    func isWanted(_ id: Machine.JobID, _ form: (StoredForm) -> Bool) -> Bool {
        var isWanted = false
        readMachine { machine in
            machine.forEachTask(of: id) { _, task in isWanted = isWanted || form(task.storedForm) }
        }
        return isWanted
    }

    /// Has the store keep what the first `count` processors of a plan made, written on a thread for work on pixels.
    /// Returns at once.
    func keepProcessed(
        _ image: LoadedImage, by plan: RequestPlan, _ count: Int, of answer: StorableAnswer, _ options: EncodeOptions
    ) {
        guard let store else { return }
        let pixels = image.pixels
        var options = options
        if pixels.format.alpha != .opaque, options.format == .jpeg { options = options.keepingAlpha }
        let request = ProcessedPictures.request(answer.request, identity: plan.pictureIdentity(count, options))
        if let metadata = image.metadata { options.metadata = metadata }
        let key = ProcessedPictures.key(answer.key)
        let group = StoreGroup(storing, changing: [key], nil)
        defer { group.seal() }
        group(bytes: pixels.byteCount) { [self, options] done in
            workers.run { [self] in
                let body: Bytes
                do throws(LoadError) {
                    body = try codecs.encode(pixels, options: options)
                } catch {
                    log(.error, "a processed picture cannot be stored") { [("error", error.description)] }
                    return done()
                }
                guard
                    let stored = ProcessedPictures.stored(
                        madeOf: answer.response, for: request, type: options.format, byteCount: body.count)
                else { return done() }
                let replaced = Guarded([StoredEntry.ID]())
                store.find(key) { found in
                    let older = found.filter { SelectingFields.match($0.response, request.fields) }.map(\.id)
                    replaced.withLock { $0 = older }
                    return nil
                } completion: { _, _ in
                    store.keep(stored, body: body, under: key, replacing: replaced.withLock { $0 }) { _ in done() }
                }
            }
        }
    }
}
