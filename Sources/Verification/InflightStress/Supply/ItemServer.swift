import InflightCore
import InflightCurl
import InflightTestSupport

/// The location of the items: in memory, served by four threads, or behind real sockets.
enum ItemServer: Sendable {
    case memory
    case sockets(LoopbackServer)

    /// The schemes, with one thread each. A redirect may lead only to the first two.
    private static let schemes = ["http", "https", "third", "fourth"]

    static func loopback() throws -> ItemServer {
        let server = try LoopbackServer()
        for item in Item.all {
            server.serve(item.path) { request in item.response(theme: request.fields[Item.field]) }
            server.serve(item.targetPath, .ok(item.body(theme: 0)))
        }
        return .sockets(server)
    }

    func url(_ item: Item) -> String {
        switch self {
        case .memory:
            let scheme = Self.schemes[item.kind == .moved ? item.number % 2 : item.number % 4]
            return "\(scheme)://h\(item.number % 7).example\(item.path)"
        case .sockets(let server): return server.url(item.path)
        }
    }

    /// Returns new transports, which the pipeline owns, and those of them that check their contract.
    func makeTransports() -> ([ImagePipeline.Configuration.TransportSource], [ScriptedTransport]) {
        switch self {
        case .memory:
            let scripted = Self.schemes.map { scheme in
                let transport = ScriptedTransport(
                    .automatic, schemes: [scheme], records: false, trapsOnViolation: false)
                transport.serveOthers { request in
                    Item(path: Substring(request.url.path))?.script(for: request) ?? .failure(.cannotConnect)
                }
                return transport
            }
            return (scripted.map { transport in .owned { _ in transport } }, scripted)
        case .sockets:
            return ([.owned { _ throws(LoadError) in try CurlTransport(configuration: .init()) }], [])
        }
    }

    func stop() {
        if case .sockets(let server) = self { server.stop() }
    }
}

extension Item {
    private static let scripts = all.flatMap { item in
        themes.indices.map { theme in
            var fields = item.kind == .varying ? HTTPFields([("Vary", field)]) : HTTPFields()
            if let control = item.cacheControl { fields.append("Cache-Control", control) }
            return ScriptedTransport.Script.ok(item.body(theme: theme), chunks: [24], fields: fields)
        }
    }

    fileprivate func script(for request: TransportRequest) -> ScriptedTransport.Script {
        let isTarget = request.url.path.hasPrefix("/target")
        let theme = kind == .varying ? Self.theme(request.fields[Self.field]) : 0
        let script = Self.scripts[number * Self.themes.count + theme]
        switch kind {
        case .moved: return isTarget ? script : .redirect(to: targetPath)
        case .missing: return .status(404)
        case .broken: return script.failing(.truncated, after: 12)
        case .plain, .varying: return script
        }
    }

    fileprivate func response(theme: String?) -> LoopbackServer.Response {
        var answer = LoopbackServer.Response.ok(body(theme: kind == .varying ? Self.theme(theme) : 0))
        if let cacheControl { answer = answer.field("Cache-Control", cacheControl) }
        switch kind {
        case .plain: return answer
        case .moved: return .redirect(to: targetPath)
        case .varying: return answer.field("Vary", Self.field)
        case .missing: return .status(404)
        case .broken: return answer.reset(after: 12)
        }
    }

    /// The directives. One third of the items has none, one third is stale at once, one third is fresh for a second.
    private var cacheControl: String? {
        switch number % 3 {
        case 0: nil
        case 1: "max-age=0, stale-while-revalidate=600"
        default: "max-age=1"
        }
    }

    private static func theme(_ name: String?) -> Int { themes.firstIndex { $0 == name } ?? 0 }
}
