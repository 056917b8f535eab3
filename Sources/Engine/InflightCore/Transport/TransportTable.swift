/// The transports of a pipeline by URL scheme.
struct TransportTable: Sendable {
    private var transports: [String: any Transport] = [:]
    /// Those that were created for this pipeline, and are shut down with it.
    private var owned: [any Transport] = []

    init(_ configuration: ImagePipeline.Configuration) throws(LoadError) {
        for source in configuration.transports {
            let transport: any Transport
            switch source {
            case .shared(let lent): transport = lent
            case .owned(let make):
                transport = try make(configuration)
                owned.append(transport)
            }
            for scheme in transport.schemes { transports[scheme] = transport }
        }
    }

    subscript(scheme: String) -> (any Transport)? { transports[scheme] }

    func unsupported(_ url: ResourceURL) -> LoadError {
        LoadError(
            .unsupportedScheme, stage: .request, url: url.string,
            message: "Unsupported URL scheme '\(url.scheme)'. Supported: "
                + transports.keys.sorted().joined(separator: ", ") + ".")
    }

    func shutdown() async {
        for transport in owned { await transport.shutdown() }
    }
}
