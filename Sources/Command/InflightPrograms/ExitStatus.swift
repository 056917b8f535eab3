/// The exit statuses of the command: those of the shell and of `sysexits.h`.
package enum ExitStatus {
    package static let success: Int32 = 0
    package static let failure: Int32 = 1
    package static let wrongUse: Int32 = 64
    package static let malformedInput: Int32 = 65
    package static let noInput: Int32 = 66
    package static let unavailable: Int32 = 69
    package static let cannotWrite: Int32 = 73
    package static let temporaryFailure: Int32 = 75
    /// The status that a shell reports for a program that SIGPIPE ends.
    package static let closedOutput: Int32 = 141
}
