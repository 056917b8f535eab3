// The catalogue of patterns for asynchronous classes, on the queues, locks and bridges of the engine, which it
// re-exports: `import InflightPatterns` is all that such a class needs. Nothing that loads an image imports it.

@_exported public import InflightConcurrency
