// Errors of requests that the engine rejects.

extension Engine {
    func unsupported(_ url: ResourceURL) -> LoadError {
        LoadError(
            .unsupportedScheme, stage: .request, url: url.string,
            message: "URLs of the scheme \(url.scheme): cannot be loaded; these can: "
                + transports.keys.sorted().joined(separator: ", ") + ".")
    }

    func shutDown(_ url: ResourceURL) -> LoadError {
        LoadError(
            .shutDown, stage: .request, url: url.string,
            message: "The pipeline was shut down and takes no more loads. Make another one.")
    }

    func overloaded(_ url: ResourceURL) -> LoadError {
        LoadError(
            .overloaded, stage: .request, url: url.string,
            message: "The pipeline is at its limit of loads in progress. Try again later, or raise maximumQueuedTasks.")
    }
}
