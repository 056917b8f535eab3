import Glibc
import Inflight
import InflightBatch
import InflightConcurrency
import InflightCore
import InflightCurl

/// Runs `inflight batch`.
enum BatchCommand {
    /// - Parameter arguments: The arguments after the name of the command.
    /// - Returns: The exit status.
    static func run(_ options: BatchOptions, _ arguments: [String]) throws -> Int32 {
        let folder = options.folder ?? ""
        switch options.action {
        case .run where options.streams: return try stream(options)
        case .run: return try download(options, folder, savesAs: arguments)
        case .retry:
            let options = try SavedCommand.retry(arguments, classes: options.retriedClasses, in: folder)
            try checkClasses(options.retriedClasses, folder)
            return try download(options, folder, savesAs: nil)
        case .status: return try status(options, folder)
        case .verify: return try verify(options, folder)
        }
    }

    /// Refuses classes of failures that neither the run nor any other has.
    private static func checkClasses(_ names: Set<String>, _ folder: String) throws {
        let unknown = names.filter { !FailureClasses.isKnown($0) }.sorted()
        guard !unknown.isEmpty else { return }
        let classes = try readStatus(folder).classes
        guard let name = unknown.first(where: { classes[$0] == nil }) else { return }
        let list = classes.keys.sorted().joined(last: " and ")
        let known = classes.isEmpty ? "It has no failures" : "Its classes: \(list)"
        throw CommandLineTool.Refusal(
            message: "Unknown class of failures \(name.quoted). The run in \(folder.quoted) has none of it. \(known).",
            status: ExitStatus.wrongUse)
    }

    private static func readStatus(_ folder: String) throws(CommandLineTool.Refusal) -> BatchStatus {
        do throws(BatchFailure) {
            return try BatchStatus(reading: folder)
        } catch {
            throw CommandLineTool.Refusal(message: error.description, status: ExitStatus.noInput)
        }
    }

    // MARK: Download

    /// - Parameter saved: The arguments to store in the folder.
    private static func download(
        _ options: BatchOptions, _ folder: String, savesAs saved: [String]?
    ) throws -> Int32 {
        let main = MainThreadWaiter()
        let inputs = try refusing { () throws(BatchFailure) in
            try InputSource.expanding(options.inputs, format: options.inputFormat)
        }.map { source throws(CommandLineTool.Refusal) -> InputSource in
            var source = source
            source.path = source.path.map(SavedCommand.absolute)
            if source.path == nil { source.parts = options.standardInputParts }
            guard options.action == .retry, source.path == nil else { return source }
            if let copy = source.keptCopy(in: folder) { return copy }
            if StandardStream(descriptor: 0).isTerminal { throw missingInput(folder) }
            return source
        }
        let program = try options.then.map { try thenProgram($0, keepsFiles: options.keepsFiles) }
        let report = try options.report.map(reportFile)
        do {
            let reporter = BatchReporter(options, folder: folder, report: report)
            let pipeline = try options.pipeline()
            let run = try refusing { () throws(BatchFailure) in
                // The program may be called in any folder, with a path that no option looks like.
                let folder = program == nil ? folder : SavedCommand.absolute(folder)
                let configuration = options.configuration(inputs: inputs, folder: folder, then: program)
                return try BatchRun(configuration, pipeline: pipeline) { reporter.handle($0) }
            }
            if let saved { try save(saved, inputs, folder) }
            return wait(for: run, reporter, main, report)
        } catch {
            report?.abandon()
            throw error
        }
    }

    /// Runs of version 0.1.0 have kept no copy of standard input, nor have those that did not read its end.
    private static func missingInput(_ folder: String) -> CommandLineTool.Refusal {
        CommandLineTool.Refusal(
            message:
                "The rows of the run in \(folder.quoted) came from standard input, and it has no copy of them. Pipe the "
                + "same rows again: inflight batch retry DIR < FILE", status: ExitStatus.noInput)
    }

    private static func wait(
        for run: BatchRun, _ reporter: BatchReporter, _ main: MainThreadWaiter, _ report: AtomicFile?
    ) -> Int32 {
        let interruption = Guarded<MainThreadWaiter.Interruption?>(nil)
        reporter.follow(run)
        run.start { ending in
            run.state { state in
                let signal = interruption.withLock(\.self)
                main.end(reporter.finish(.init(ending: ending, state: state, interruption: signal)))
            }
        }
        return main.wait { signal in
            interruption.withLock { $0 = signal }
            run.stop()
        } abandon: {
            report?.abandon()
        }
    }

    private static func thenProgram(_ name: String, keepsFiles: Bool) throws -> ThenProgram {
        guard var program = ThenProgram(name) else {
            throw CommandLineTool.Refusal(
                message: "Cannot run \(name.quoted), the program of --then: there is no such program, or it is not "
                    + "executable. It is run with the path of a file as its only argument. To give it others, name a "
                    + "script.", status: ExitStatus.noInput)
        }
        program.keepsFiles = keepsFiles
        return program
    }

    private static func reportFile(_ path: String) throws -> AtomicFile {
        do throws(SystemError) {
            return try AtomicFile(path)
        } catch {
            throw CommandLineTool.Refusal(
                message:
                    "Cannot write the report \(path.quoted): \(error.text). Choose a file in an existing, writable "
                    + "folder with --report FILE.", status: ExitStatus.cannotWrite)
        }
    }

    private static func save(_ arguments: [String], _ inputs: [InputSource], _ folder: String) throws {
        do throws(SystemError) {
            try SavedCommand.write(arguments, inputs: inputs, to: folder)
        } catch {
            throw CommandLineTool.Refusal(
                message: "Cannot write the command into \(folder.quoted): \(error.text).",
                status: ExitStatus.cannotWrite)
        }
    }

    private static func refusing<Value>(_ body: () throws(BatchFailure) -> Value) throws(CommandLineTool.Refusal)
        -> Value
    {
        do throws(BatchFailure) {
            return try body()
        } catch {
            throw CommandLineTool.Refusal(message: error.text, status: error.exitStatus)
        }
    }

    // MARK: Stream

    private static func stream(_ options: BatchOptions) throws -> Int32 {
        let main = MainThreadWaiter()
        let pipeline = try options.pipeline()
        let run = StreamRun(
            options.rows, images: options.streamImages, pipeline: pipeline, version: CurlTransport.version)
        let interruption = Guarded<Int32?>(nil)
        run.start { ending in
            let status =
                switch ending {
                case .finished: ExitStatus.success
                case .stopped: ExitStatus.failure
                case .outputClosed: ExitStatus.closedOutput
                case .failed(let failure): failure.exitStatus
                }
            if case .failed(let failure) = ending { say(failure.text) }
            main.end(interruption.withLock(\.self) ?? status)
        }
        return main.wait { signal in
            interruption.withLock { $0 = signal.status }
            run.stop()
        } abandon: {
        }
    }

    // MARK: Reading

    private static func status(_ options: BatchOptions, _ folder: String) throws -> Int32 {
        let status = try readStatus(folder)
        guard options.network.json else {
            let style = Style.of(.output)
            let lines = [style.bold(ConsoleReporter.shown(name: folder))] + BatchText.lines(status, style: style)
            return StandardStream.output.print(lines.joined(separator: "\n") + "\n")
        }
        var writer = JSONWriter()
        BatchText.add(status, to: &writer)
        return StandardStream.output.print(writer.line)
    }

    private static func verify(_ options: BatchOptions, _ folder: String) throws -> Int32 {
        let main = MainThreadWaiter()
        let codecs = try options.pipeline().codecs
        let cancellation = CancellationFlag()
        WorkerThreads(count: 1, name: "inflight-verify").run {
            do throws(BatchFailure) {
                let report = try ShardVerifier.verify(folder: folder, codecs: codecs) { cancellation.isCancelled }
                let lines = report.description.split(separator: "\n").map { TerminalText.safe(String($0)) + "\n" }
                let printed = StandardStream.output.print(
                    options.network.json ? report.json : Array(lines.joined().utf8))
                main.end(report.problemCount > 0 ? max(printed, ExitStatus.failure) : printed)
            } catch {
                say(error.text)
                main.end(ExitStatus.noInput)
            }
        }
        return main.wait {
            cancellation.cancel()
            main.end($0.status)
        } abandon: {
        }
    }

    private static func say(_ text: String) {
        StandardStream.error.say("inflight: \(TerminalText.safe(text))\n")
    }
}
