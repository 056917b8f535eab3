import Glibc

/// The command from its arguments to its exit status.
enum CommandLineTool {
    enum ExitStatus {
        static let success: Int32 = 0
        static let failure: Int32 = 1
        static let wrongUse: Int32 = 64
        static let noInput: Int32 = 66
        /// What a shell makes of a program that SIGPIPE ends.
        static let closedOutput: Int32 = 141
    }

    /// - Parameter arguments: without the name of the program.
    static func run(_ arguments: [String]) -> Int32 {
        StandardStream.reserveDescriptors()
        // A closed pipe, and a file beyond the system's limit, are errors of the call that meets them.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        do throws(UsageError) {
            switch try Command.parse(arguments, standardOutputIsTerminal: StandardStream.output.isTerminal) {
            case .version: return print(Version.text + "\n")
            case .help(let help): return print(help.text)
            case .get: return ExitStatus.failure
            case .info: return ExitStatus.failure
            }
        } catch {
            return complain(error)
        }
    }

    private static func print(_ text: String) -> Int32 {
        do throws(StandardStream.WriteError) {
            try StandardStream.output.write(Array(text.utf8))
            return ExitStatus.success
        } catch {
            return error == .closed ? ExitStatus.closedOutput : ExitStatus.failure
        }
    }

    private static func complain(_ error: UsageError) -> Int32 {
        let help = error.command.map { "inflight \($0) --help" } ?? "inflight --help"
        StandardStream.error.say("inflight: \(error.message)\nTo see what there is: \(help)\n")
        return ExitStatus.wrongUse
    }
}
