extension LoopbackServer {
    /// A condition that a test waits for. `path: nil` means all paths together. Counts are from the server's start.
    public enum Condition: Sendable, Hashable, CustomStringConvertible {
        /// At least this many requests were read.
        case requests(Int = 1, path: String? = nil)
        /// At least this many responses were sent completely.
        case answers(Int = 1, path: String? = nil)
        /// The peer closed at least this many connections: while that path was being served, or, without a path, at any
        /// time.
        case closedByPeer(Int = 1, path: String? = nil)
        /// At least this many responses wait at the hold of that name, at this moment.
        case held(String, count: Int = 1)
        /// At least this many connections were opened.
        case openedConnections(Int)
        /// Exactly this many connections are open, at this moment.
        case openConnections(Int)

        public var description: String {
            func of(_ path: String?) -> String { path.map { " of \($0)" } ?? "" }
            return switch self {
            case .requests(let count, let path): "\(count) requests\(of(path))"
            case .answers(let count, let path): "\(count) answers\(of(path))"
            case .closedByPeer(let count, let path): "\(count) connections closed by the peer\(of(path))"
            case .held(let name, let count): "\(count) answers held at \"\(name)\""
            case .openedConnections(let count): "\(count) connections opened"
            case .openConnections(let count): "\(count) connections open"
            }
        }
    }

    /// An error while creating a server or a certificate authority, or while writing the authority's certificate.
    public struct Failure: Error, CustomStringConvertible {
        /// The failed operation and the reason, in English.
        public let description: String

        static func system(_ call: String, _ status: Int32) -> Failure {
            Failure(description: "\(call) failed with errno \(status): a server on loopback cannot be made.")
        }
    }
}
