// `import Inflight` is all that a program needs: the engine with its defaults. A program that needs less depends on the
// targets behind it.
@_exported public import InflightConcurrency
@_exported public import InflightCore
@_exported public import InflightCurl
@_exported public import InflightDisk
@_exported public import InflightFoundation
@_exported public import InflightWorker
