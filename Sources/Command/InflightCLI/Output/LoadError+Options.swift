import InflightBatch
import InflightCore

extension LoadError {
    /// The message of `get`, `info` and `show`, which names their options.
    var commandMessage: String { OptionNames.get.message(message) }
}
