/// A host and a port that connections are made to, and what is known of the host's addresses.
///
/// libcurl is told the addresses before it needs them, so that it never looks a name up itself.
final class Endpoint {
    /// In ASCII, lower case, without brackets.
    let host: String
    let port: Int
    /// How many sites lead to it.
    var sites = 0
    /// Exchanges that wait for its addresses.
    var waiters: [Exchange] = []
    var isBeingLookedUp = false
    /// Until when libcurl's addresses are good.
    var freshUntil: Int64 = .min
    /// Whether libcurl has addresses, good or not.
    var isInstalled = false

    private(set) var addresses: [String] = []
    private var needsInstalling = false

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    var key: String { Self.key(host, port) }

    static func key(_ host: String, _ port: Int) -> String { "\(host):\(port)" }

    func found(_ addresses: [String], freshUntil: Int64) {
        if self.addresses != addresses {
            self.addresses = addresses
            needsInstalling = true
        }
        self.freshUntil = freshUntil
    }

    /// What libcurl has to be told with the next transfer, once.
    func takeEntry() -> String? {
        guard needsInstalling else { return nil }
        needsInstalling = false
        isInstalled = true
        return "\(key):" + addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }
}
