/// The transports of a pipeline by URL scheme.
struct TransportTable: Sendable {
    // Comparing the few schemes costs less than hashing one.
    private var schemes: [String] = []
    /// The transport of the scheme at the same index.
    private var transports: [any Transport] = []
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
            // Before the others, so that it takes the place of an earlier transport of the same scheme.
            let own = transport.schemes.filter { configuration.schemes?.contains($0) ?? true }
            schemes.insert(contentsOf: own, at: 0)
            transports.insert(contentsOf: own.map { _ in transport }, at: 0)
        }
    }

    subscript(scheme: String) -> (any Transport)? { schemes.firstIndex(of: scheme).map { transports[$0] } }

    func unsupported(_ url: ResourceURL) -> LoadError {
        LoadError(
            .unsupportedScheme, stage: .request, url: url.string,
            message: "Unsupported URL scheme '\(url.scheme)'. Supported: "
                + Set(schemes).sorted().joined(separator: ", ") + ".")
    }

    func shutdown() async {
        for transport in owned { await transport.shutdown() }
    }
}
