import InflightConcurrency

// Processed images in the store: looked up before anything else, and stored when they are made.

extension Engine {
    /// Starts a task, with a lookup of the finished image if the request stores processed images.
    ///
    /// - Parameter wasTaken: whether the task was admitted before.
    func begin(_ task: ImageTask, plan: RequestPlan, wasTaken: Bool = false) {
        if store != nil, plan.looksForProcessed, findInMemory(plan) == nil {
            let count = plan.request.processors.count
            task.looksForProcessed(prefix: count)
            if look(for: count, of: plan.request, task, wasTaken: wasTaken) { return }
        }
        submit(task, plan: plan, wasTaken: wasTaken)
    }

    /// Submits a lookup of the stored image that the first `count` processors made.
    func look(for count: Int, of request: ImageRequest, _ task: ImageTask, wasTaken: Bool) -> Bool {
        guard let lookUp = try? plan(request, goal: .image, purpose: .processed(prefix: count)) else { return false }
        submit(task, plan: lookUp, wasTaken: wasTaken)
        return true
    }

    /// Returns the options for encoding the job's image for a store, or nil if no direct subscriber wants it stored.
    func storedOptions(_ id: Machine.JobID) -> EncodeOptions? {
        var options: EncodeOptions?
        readMachine { machine in
            machine.forEachOwnTask(of: id) { task in options = options ?? task.storedForm.processedOptions }
        }
        return options
    }

    /// Returns whether a task that depends on the job, directly or not, has a stored form that satisfies `form`.
    func isWanted(_ id: Machine.JobID, _ form: (StoredForm) -> Bool) -> Bool {
        var isWanted = false
        readMachine { machine in
            machine.forEachTask(of: id) { _, task in isWanted = isWanted || form(task.storedForm) }
        }
        return isWanted
    }

    /// Encodes the image that a plan's first `count` processors made, on a decoding thread, and stores it. Returns at
    /// once.
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
                    log(.error, "cannot store a processed image") { [("error", error.description)] }
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
