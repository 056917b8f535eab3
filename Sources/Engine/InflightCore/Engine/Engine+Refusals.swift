// Errors of requests that the engine rejects.

extension Engine {
    func unsupported(_ url: ResourceURL) -> LoadError {
        LoadError(
            .unsupportedScheme, stage: .request, url: url.string,
            message: "Unsupported URL scheme '\(url.scheme)'. Supported: "
                + transports.keys.sorted().joined(separator: ", ") + ".")
    }

    func shutDown(_ url: ResourceURL) -> LoadError {
        LoadError(
            .shutDown, stage: .request, url: url.string,
            message: "The pipeline was shut down. Create a new one.")
    }

    func overloaded(_ url: ResourceURL) -> LoadError {
        LoadError(
            .overloaded, stage: .request, url: url.string,
            message: "Too many loads in progress. Try again later, or raise maximumQueuedTasks.")
    }
}
