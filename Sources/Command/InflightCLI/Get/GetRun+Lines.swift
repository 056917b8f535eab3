import Dispatch
import Inflight
import InflightCore

/// Takes lines, up to the limits of the run.
extension GetRun {
    var outstanding: Int { max(reporter.outstanding, live.count) }

    var canTakeMore: Bool {
        !isEnding && loading < options.network.concurrency * 4 && outstanding < Self.mostOutstanding
            && reporter.outstandingBytes < Self.mostOutstandingBytes
    }

    /// Takes the available lines, up to the limits of the run. Other blocks of the queue run in between.
    func pump() {
        guard !isEnding else { return }
        // Each lookup of an earlier file reads it completely, so other blocks of the queue run between two lookups.
        for _ in 0..<(looksUp ? 1 : Self.linesAtOnce) {
            guard canTakeMore else { return }
            if let url = arguments.popFirst() {
                ask(url)
                continue
            }
            guard let line = list?.next() else {
                endIfDone()
                return
            }
            switch line {
            case .text(let bytes): ask(bytes)
            case .tooLong(let number, let beginning): refuse(beginning, number: number)
            case .endless: break
            }
        }
        schedulePump()
    }

    func schedulePump() {
        guard !pumpIsScheduled else { return }
        pumpIsScheduled = true
        queue.async { [self] in
            pumpIsScheduled = false
            pump()
        }
    }

    func ask(_ line: [UInt8]) {
        if let text = String(validating: line, as: UTF8.self) { return ask(text) }
        let text = String(decoding: line.prefix(200), as: UTF8.self)
        let message = "This line of the list is not valid UTF-8. Percent-encode non-ASCII characters."
        refuse(text, LoadError(.invalidURL, stage: .request, message: message))
    }

    func refuse(_ beginning: [UInt8], number: Int) {
        let text = String(decoding: beginning, as: UTF8.self) + "…"
        let message =
            "Line \(number) of the list exceeds \(Quantity.grouped(ListSource.longestLine)) bytes, the limit for a URL."
        refuse(text, LoadError(.invalidURL, stage: .request, message: message))
    }

    func refuse(_ text: String, _ error: LoadError) {
        let waiter = newWaiter(text)
        let report = Report.failure(error)
        conclude(
            waiter, report.digest(withMembers: reporter.isJSON), from: nil,
            story: .new(report, key: nil, line: waiter.line))
        note(error, text: text)
    }

    func newWaiter(_ text: String) -> ListItem.Waiter {
        reporter.totals.requested += 1
        return ListItem.Waiter(
            number: reporter.opened(text), text: text, requestedAt: clock.now(), line: reporter.totals.requested)
    }

    func ask(_ text: String) {
        let url: ResourceURL
        do throws(LoadError) {
            url = try ResourceURL(text)
        } catch {
            return refuse(text, error)
        }
        let waiter = newWaiter(text)
        let key = ListItem.key(url)
        if let item = live[key] {
            reporter.totals.shared += 1
            console.tell(text, "duplicate of a URL in flight: shares its result")
            item.waiters.append(waiter)
            record(waiter, joined: item)
        } else if let digest = memory[key].flatMap(Report.Digest.init(encoded:)) {
            reporter.totals.shared += 1
            console.tell(text, "duplicate of an earlier URL: reuses its result")
            conclude(
                waiter, digest, from: digest.hasSource ? LoadSource.shared.rawValue : nil, story: .repeated(key: key))
            digest.failure.map { reporter.totals.note($0, url: ConsoleReporter.shown(text), message: "") }
        } else {
            nextID += 1
            let suggested = fileName.map { SuggestedName(chosen: $0) } ?? SuggestedName(url)
            let item = ListItem(
                id: nextID, url: url, key: key, suggested: suggested, first: waiter, machine: .init(looksUp: looksUp))
            live[key] = item
            begin(item)
        }
    }
}
