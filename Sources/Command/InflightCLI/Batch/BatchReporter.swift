import Inflight
import InflightBatch
import InflightConcurrency
import InflightCore

/// Reports a run: to people on standard error, with `--json` on standard output, and in the file of `--report`.
// Unchecked: mutable state is accessed only on the run's queue, or before the run starts.
final class BatchReporter: @unchecked Sendable {
    /// How a run was reported to have ended.
    struct Ending: Sendable {
        var ending: BatchEnding
        /// The state of the run at the end.
        var state: BatchState
        /// The signal that stopped the run.
        var interruption: MainThreadWaiter.Interruption?
    }

    private static let interval = Duration.milliseconds(250)
    private static let jsonInterval = Duration.seconds(1)
    /// The interval of lines in a log.
    private static let logInterval = Duration.seconds(60)

    private let options: BatchOptions
    private let folder: String
    private let report: AtomicFile?
    private let console: ConsoleReporter
    private let clock = SystemClock()
    private let start: MonotonicTime
    private var monitor = BatchMonitor()
    private var sample = BatchSample()
    private var resumedRows = 0
    private var rejects = 0
    private var allWereRejected = false
    /// The longest requests, each of another host.
    private var stragglers: [String: Duration] = [:]
    private var lastProgress = Duration.zero
    private var timer: (any ScheduledWork)?
    private var hasEnded = false
    private var outputFailure: StandardStream.WriteError?
    /// Stops the run when the reader of its output has closed it.
    private var stop: @Sendable () -> Void = {}

    /// Creates the reporter of a run that has not begun.
    ///
    /// - Parameters:
    ///   - folder: The folder of the output.
    ///   - report: The file for the report.
    init(_ options: BatchOptions, folder: String, report: AtomicFile?) {
        self.options = options
        self.folder = folder
        self.report = report
        console = ConsoleReporter(options.network)
        start = clock.now()
    }

    private var elapsed: Duration { clock.now() - start }

    /// Reports the progress of a run regularly until it ends. Call it before the run starts.
    func follow(_ run: BatchRun) {
        stop = { run.stop() }
        tick(run)
    }

    private func tick(_ run: BatchRun) {
        timer = clock.schedule(at: clock.now() + Self.interval) { [self] in
            run.state { [self] state in
                guard !hasEnded else { return }
                show(state)
                tick(run)
            }
        }
    }

    /// Reports an event.
    func handle(_ event: BatchEvent) {
        switch event {
        case .started(let rows, let shards):
            // A retry ends rows again that have ended before.
            resumedRows = options.action == .retry ? 0 : rows
            if resumedRows > 0, !options.network.isQuiet {
                console.say("Resuming after \(Quantity.count(rows, "row")) and \(Quantity.count(shards, "shard")).")
            }
            write("start") {
                $0.add("resumedRows", rows)
                $0.add("finishedShards", shards)
            }
        case .rowEnded(let row):
            sample.add(row)
            for warning in monitor.rowDidEnd(row, at: elapsed) { warn(warning.description) }
        case .rejected: rejects += 1
        case .allRejected(let file, let rows, let line, let reason):
            allWereRejected = true
            let count = rows == 1 ? "Its only row was" : "All \(Quantity.grouped(rows)) rows were"
            let text = "\(file): \(count) rejected. Line \(line): \(reason)"
            console.warn(text)
            write("warning") { $0.add("message", text) }
        case .inputEnded: break
        case .shardFinished(let shard, let stats):
            write("shard") {
                $0.add("shard", shard)
                $0.add("rows", stats.count)
                $0.add("images", stats.successes)
                $0.add("bytes", stats.byteCount)
            }
        case .handedOver(let shard): write("handover") { $0.add("shard", shard) }
        case .warning(let text): warn(text)
        }
    }

    private func warn(_ text: String) {
        if !options.network.isQuiet { console.warn(text) }
        write("warning") { $0.add("message", text) }
    }

    private func show(_ state: BatchState) {
        note(state)
        let progress = progress(state)
        console.show { BatchText.line(progress, columns: $0) }
        let isJSON = options.network.json
        guard progress.elapsed - lastProgress >= (isJSON ? Self.jsonInterval : Self.logInterval) else { return }
        lastProgress = progress.elapsed
        write("progress") { BatchText.add(progress, to: &$0) }
        if !isJSON, !console.showsProgress, !options.network.isQuiet {
            console.say(BatchText.line(progress, columns: .max))
        }
    }

    private func progress(_ state: BatchState) -> BatchText.Progress {
        BatchText.Progress(monitor: monitor, state: state, resumedRows: resumedRows, elapsed: elapsed)
    }

    private func note(_ state: BatchState) {
        for (host, duration) in state.stragglers where duration >= BatchText.longRequest {
            stragglers[host] = max(stragglers[host] ?? .zero, duration)
        }
        let longest = stragglers.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3)
        stragglers = Dictionary(uniqueKeysWithValues: longest.map { ($0.key, $0.value) })
    }

    // MARK: End

    /// Reports the end of the run.
    ///
    /// - Returns: The exit status.
    func finish(_ ended: Ending) -> Int32 {
        hasEnded = true
        timer?.cancel()
        console.clear()
        note(ended.state)
        var found: BatchStatus?
        var exitStatus: Int32
        switch ended.ending {
        case .failed(let failure):
            exitStatus = failure.exitStatus
            console.warn(failure.text)
        case .stopped:
            exitStatus = ended.interruption?.status ?? ExitStatus.failure
            say(interruptedLines(ended.interruption))
        case .finished:
            do throws(BatchFailure) {
                let status = try BatchStatus(reading: folder)
                found = status
                exitStatus = status.exitStatus(
                    maximumFailureRate: options.maximumFailureRate, isStrict: options.isStrict)
                if allWereRejected { exitStatus = ExitStatus.malformedInput }
                say(finishedLines(status, ended.state))
            } catch {
                exitStatus = ExitStatus.cannotWrite
                console.warn(error.description)
            }
        }
        if rejects > 0 {
            let name = ConsoleReporter.shown(name: "\(folder)/rejects.jsonl")
            console.say("\(Quantity.count(rejects, "malformed row")) skipped, listed in \(name)")
        }
        if !writeReport(found), exitStatus == ExitStatus.success {
            exitStatus = ExitStatus.cannotWrite
        }
        write("progress") { BatchText.add(progress(ended.state), to: &$0) }
        write("end") { writer in
            writer.add("outcome", ended.ending.name)
            writer.add("exitStatus", exitStatus)
            writer.add("milliseconds", elapsed.saturatedNanoseconds / 1_000_000)
            writer.add("rejects", rejects)
            writer.add("stagingWasFull", ended.state.stagingWasFull)
            if case .failed(let failure) = ended.ending { writer.add("message", failure.text) }
            if let found { BatchText.add(found, to: &writer) }
        }
        return outputFailure.map { $0.reported() } ?? exitStatus
    }

    private func interruptedLines(_ interruption: MainThreadWaiter.Interruption?) -> [String] {
        let rows = Quantity.count(monitor.rows, "row")
        return [
            console.style.bold(
                "\(interruption?.text ?? "Stopped") after \(Quantity.time(elapsed)), \(rows) in this run."),
            "To resume, run the same command again.",
        ]
    }

    private func finishedLines(_ status: BatchStatus, _ state: BatchState) -> [String] {
        let images = Quantity.count(monitor.successes, "image")
        let rows = Quantity.count(monitor.rows, "row")
        var lines = [console.style.bold("Done: \(images) from \(rows) in \(Quantity.time(elapsed)).")]
        lines += BatchText.lines(status, style: console.style)
        let unsupported = LoadError.Code.unsupportedFormat.rawValue
        if status.classes[unsupported] != nil {
            let formats = FormatSupport.all(decoding: options.network.decoding, decoder: options.network.decoder())
            let packages = FormatsText.missingPackages(formats)
            lines += packages
            if !packages.isEmpty {
                let folder = ConsoleReporter.shown(name: folder)
                lines.append("Then retry: inflight batch retry \(folder) --class \(unsupported)")
            }
        }
        if state.stagingWasFull > 0 {
            lines.append(
                "The staging folder was full \(Quantity.count(state.stagingWasFull, "time")): rows of the oldest shard "
                    + "went first. Raise --staging.")
        }
        if !stragglers.isEmpty {
            let hosts = stragglers.sorted { $0.value > $1.value }.map {
                "\(BatchText.shown(host: $0.key)) (\(Quantity.time($0.value)))"
            }
            lines.append("Slowest requests: \(hosts.joined(separator: ", "))")
        }
        return lines
    }

    private func say(_ lines: [String]) {
        guard !options.network.isQuiet else { return }
        for line in lines { console.say(line) }
    }

    /// - Returns: Whether the report, if any, was written.
    private func writeReport(_ status: BatchStatus?) -> Bool {
        guard let report else { return true }
        do throws(SystemError) {
            let page = BatchReportPage(
                folder: folder, monitor: monitor, sample: sample, status: status, elapsed: elapsed)
            try report.finish(page.html)
            return true
        } catch {
            console.warn("Cannot write the report \((options.report ?? "").quoted): \(error.text).")
            return false
        }
    }

    // MARK: JSON

    private func write(_ event: String, _ build: (inout JSONWriter) -> Void) {
        guard options.network.json, outputFailure == nil else { return }
        var writer = JSONWriter()
        writer.add("event", event)
        build(&writer)
        console.clear()
        do throws(StandardStream.WriteError) {
            try StandardStream.output.write(writer.line)
        } catch {
            outputFailure = error
            stop()
        }
    }
}

extension BatchEnding {
    /// The name in JSON.
    fileprivate var name: String {
        switch self {
        case .finished: "finished"
        case .stopped: "stopped"
        case .failed: "failed"
        }
    }
}
