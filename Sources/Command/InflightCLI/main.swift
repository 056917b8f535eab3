import Glibc

// Without the handlers that libraries have for the end: they would pull the floor away under threads that still run.
_exit(CommandLineTool.run())
