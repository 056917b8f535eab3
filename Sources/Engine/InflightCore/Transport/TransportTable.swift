/// The transports of a pipeline by URL scheme.
struct TransportTable: Sendable {
    // Comparing the few schemes costs less than hashing one.
    private var transports: [(scheme: String, transport: any Transport)] = []
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
            for scheme in transport.schemes {
                transports.removeAll { $0.scheme == scheme }
                transports.append((scheme, transport))
            }
        }
    }

    subscript(scheme: String) -> (any Transport)? { transports.first { $0.scheme == scheme }?.transport }

    func unsupported(_ url: ResourceURL) -> LoadError {
        LoadError(
            .unsupportedScheme, stage: .request, url: url.string,
            message: "Unsupported URL scheme '\(url.scheme)'. Supported: "
                + transports.map(\.scheme).sorted().joined(separator: ", ") + ".")
    }

    func shutdown() async {
        for transport in owned { await transport.shutdown() }
    }
}
