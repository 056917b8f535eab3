internal import Glibc

// Skips the exit handlers of libraries, which would release resources that running threads still use.
_exit(LabTool.run(Array(CommandLine.arguments.dropFirst())))
