/// A host and port to connect to, with the known addresses of the host.
///
/// libcurl is given the addresses before it needs them, so that it never resolves a name itself.
final class Endpoint {
    /// ASCII, lower case, without brackets.
    let host: String
    let port: Int
    /// The number of sites that use this endpoint.
    var sites = 0
    /// Exchanges that wait for the addresses.
    var waiters: [Exchange] = []
    var isBeingLookedUp = false
    /// The time until which libcurl's addresses are fresh.
    var freshUntil: Int64 = .min
    /// Whether libcurl has addresses, fresh or not.
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

    /// Returns the `CURLOPT_RESOLVE` entry that libcurl needs with the next transfer, once.
    func takeEntry() -> String? {
        guard needsInstalling else { return nil }
        needsInstalling = false
        isInstalled = true
        return "\(key):" + addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }
}
