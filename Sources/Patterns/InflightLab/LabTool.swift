internal import Glibc
internal import InflightConcurrency
internal import InflightCurl
internal import InflightFiles
internal import InflightPrograms

/// The program `inflight-lab`, from its arguments to its exit status. `inflight lab` starts it, and has checked the
/// arguments and the limits of the process.
enum LabTool {
    /// - Returns: The exit status.
    static func run(_ arguments: [String]) -> Int32 {
        StandardStream.reserveDescriptors()
        // Writing to a closed pipe, or beyond the file size limit, then fails with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // A part of an experiment, in a process of its own.
        if arguments.count > 1, arguments[0] == "--child" {
            return LabChild.run(arguments[1], Array(arguments.dropFirst(2)))
        }
        let version = CurlTransport.version
        guard let caller = LabInvocation.version(in: arguments) else {
            StandardStream.error.say("inflight-lab \(version) is started by inflight lab.\n")
            return ExitStatus.wrongUse
        }
        guard caller == version else {
            let versions = "The lab has version \(version), but inflight has version \(TerminalText.safe(caller))."
            StandardStream.error.say("inflight: \(versions) Install inflight-lab of the same version.\n")
            return ExitStatus.unavailable
        }
        guard let invocation = LabInvocation(arguments) else { return ExitStatus.wrongUse }
        _ = AddressSpace.prepare()
        return run(invocation)
    }

    private static func run(_ invocation: LabInvocation) -> Int32 {
        if invocation.list { return StandardStream.output.print(LabCommand.list(invocation)) }
        var command = LabCommand(invocation: invocation)
        if let path = invocation.svg {
            do throws(SystemError) {
                command.drawing = try AtomicFile(path)
            } catch {
                StandardStream.error.say("inflight: \(LabCommand.cannotWrite(path, error))\n")
                return ExitStatus.failure
            }
        }
        let main = MainThreadWaiter()
        let drawing = command.drawing
        // Experiments observe the main queue, so the main thread serves it and another thread handles signals.
        WorkerThreads(count: 1, name: "signals").run {
            let status = main.wait {
                drawing?.abandon()
                main.end($0.status)
            } abandon: {
            }
            _exit(status)
        }
        WorkerThreads(count: 1, name: "lab").run { [command] in main.end(command.run()) }
        MainThread.serve()
    }
}
