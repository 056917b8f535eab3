import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// The command, from its arguments to its exit status.
enum CommandLineTool {
    /// Returns this process's arguments, without the program's name.
    ///
    /// In a URL, bytes that are not UTF-8 are percent-encoded. Other arguments that are not UTF-8 are refused:
    /// `CommandLine.arguments` would repair them, and so name another file.
    private static func arguments() throws(UsageError) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            // The system's own list, which never changes and ends after the last argument.
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { break }
            if let text = unsafe String(validatingCString: argument) {
                arguments.append(text)
                continue
            }
            let repaired = unsafe String(cString: argument)
            guard ["http://", "https://", "file://"].contains(where: { repaired.lowercased().hasPrefix($0) }) else {
                throw UsageError(
                    "Argument \(index), \(repaired.quoted), is not valid UTF-8. "
                        + "If it names a file, rename the file, or use a link to it.")
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: argument, count: strlen(argument))
            arguments.append(unsafe PercentEncoding.text(ofURL: bytes))
        }
        return arguments
    }

    /// The reason why a command cannot start, and its exit status.
    struct Refusal: Error {
        var message: String
        var status = ExitStatus.failure
    }

    /// Enough for one connection, the cache, a list, an output file, and the files that libraries open.
    private static let leastDescriptors = 20

    /// Raises the limit of descriptors, and refuses to start if libraries would trap or wait forever.
    private static func prepareLimits() throws(Refusal) {
        DescriptorLimit.raise()
        let available = DescriptorLimit.available
        guard available >= leastDescriptors else {
            throw Refusal(
                message: "Too few file descriptors: \(leastDescriptors) required, \(available) available. "
                    + "Raise the limit with ulimit -n.")
        }
        guard AddressSpace.prepare() else {
            throw Refusal(
                message: "Too little address space: 160 MiB required. Raise the limit with ulimit -v.")
        }
    }

    /// - Returns: The exit status.
    static func run() -> Int32 {
        StandardStream.reserveDescriptors()
        // Writing to a closed pipe, or beyond the file size limit, then fails with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        do {
            try prepareLimits()
            let arguments = try arguments()
            switch try Command.parse(arguments, standardOutputIsTerminal: StandardStream.output.isTerminal) {
            case .version: return StandardStream.output.print("\(Version.text)\n")
            case .help(let help): return StandardStream.output.print(help)
            case .get(let options): return try get(options, arguments)
            case .batch(let options): return try BatchCommand.run(options, Array(arguments.dropFirst()))
            case .info(let options): return try info(options)
            case .show(let options): return try show(options)
            case .cache(let options): return try cache(options)
            case .lab(let invocation): throw LabProgram.start(invocation)
            case .man(let options): return StandardStream.output.print(options.page)
            case .completions(let options): return StandardStream.output.print(options.shell?.script ?? "")
            }
        } catch let error as UsageError {
            let help = error.command.map { "inflight \($0) --help" } ?? "inflight --help"
            StandardStream.error.say("inflight: \(error.message) See \(help).\n")
            return ExitStatus.wrongUse
        } catch let error as Refusal {
            StandardStream.error.say("inflight: \(TerminalText.safe(error.message))\n")
            return error.status
        } catch {
            preconditionFailure("A command threw \(error).")
        }
    }

    private static func get(_ options: GetOptions, _ arguments: [String]) throws -> Int32 {
        let main = MainThreadWaiter()
        var descriptor: Int32?
        if let list = options.list {
            do throws(SystemError) {
                descriptor = try ListSource.open(list)
            } catch {
                let name = list == "-" ? "the list on standard input" : "the list \(list.quoted)"
                throw Refusal(message: "Cannot read \(name): \(error.text).", status: ExitStatus.noInput)
            }
        }
        let output = try RunOutput(options, arguments: arguments)
        // Dispatch opens three descriptors with the first Swift task, and traps if it cannot.
        let spare = (0..<4).map { _ in unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }
        // The store is created before the run that prints its warnings, and opened by that run's first load.
        let listener = Guarded<GetRun?>(nil)
        let warn: @Sendable (String) -> Void = { text in listener.withLock { $0 }?.warn(text) }
        let store = CacheFolder.store(options.cache, warn: warn)
        let pipeline: ImagePipeline
        do throws(Refusal) {
            pipeline = try options.network.pipeline(
                decodes: options.treatment == .reencoded, store: store, observer: output?.recorder?.observer,
                log: output?.log, warn: warn)
        } catch {
            output?.abandon()
            throw error
        }
        let run = GetRun(options, pipeline: pipeline, list: descriptor, recorder: output?.recorder)
        listener.withLock { $0 = run }
        run.begin { status in
            guard store != nil || output?.writesFiles == true else { return main.end(status) }
            for descriptor in spare { close(descriptor) }
            // Completes the store, so that the next run finds the fetched responses.
            await pipeline.shutdown(.cancel)
            await store?.shutdown()
            main.end(write(output, of: pipeline, status))
        }
        return main.wait {
            run.interrupt(status: $0.status, because: $0.text)
        } abandon: {
            run.removeDrafts()
            output?.abandon()
        }
    }

    /// Completes the trace, the report and the HTTP Archive of the run.
    ///
    /// - Returns: The exit status: that of the run, unless it succeeded and this fails.
    private static func write(_ output: RunOutput?, of pipeline: ImagePipeline, _ status: Int32) -> Int32 {
        let limits = ImagePipeline.Event.Lane.allCases.map { ($0, pipeline.limit(of: $0)) }
        let problems = output?.write(limits: Dictionary(uniqueKeysWithValues: limits)) ?? []
        for problem in problems { StandardStream.error.say("inflight: \(TerminalText.safe(problem))\n") }
        return problems.isEmpty || status != ExitStatus.success ? status : ExitStatus.failure
    }

    private static func info(_ options: InfoOptions) throws -> Int32 {
        if options.wantsFormats { return StandardStream.output.print(FormatsText.output(options.network)) }
        return try perform {
            let command = InfoCommand(options: options, pipeline: try options.network.pipeline(decodes: false))
            return { await command.run() }
        }
    }

    /// Performs a command that a signal may end at any time.
    ///
    /// - Parameter prepare: Returns the work, which returns the exit status. It is called when signals are handled.
    private static func perform(_ prepare: () throws -> @Sendable () async -> Int32) rethrows -> Int32 {
        let main = MainThreadWaiter()
        let work = try prepare()
        Task.detached { main.end(await work()) }
        return main.wait {
            main.end($0.status)
        } abandon: {
        }
    }

    private static func show(_ options: ShowOptions) throws -> Int32 {
        let main = MainThreadWaiter()
        let pipeline = try options.network.pipeline(decodes: true)
        let terminal = TerminalModes(.output)
        let interruption = Guarded<Int32?>(nil)
        let work = Task.detached {
            let status = await ShowCommand(options: options, pipeline: pipeline, terminal: terminal).run()
            main.end(interruption.withLock(\.self) ?? status)
        }
        return main.wait {
            let status = $0.status
            interruption.withLock { $0 = status }
            work.cancel()
        } abandon: {
            terminal?.abandon()
        }
    }

    private static func cache(_ options: CacheCommandOptions) throws(UsageError) -> Int32 {
        guard let folder = options.folder ?? CacheFolder.ofUser() else {
            throw UsageError(
                "No cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path. Specify one with --cache DIR.",
                command: "cache")
        }
        // After a signal, entries removed by then stay removed. The store stays consistent, whenever the process exits.
        return perform {
            let command = CacheCommand(options: options, folder: folder)
            return { await command.run() }
        }
    }
}
