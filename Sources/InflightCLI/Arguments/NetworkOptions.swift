import Inflight

/// What `get` and `info` have in common: how a server is asked.
struct NetworkOptions: Equatable, Sendable {
    struct Header: Equatable, Sendable {
        var name: String
        var value: String
        /// `nil`: for every host.
        var host: HostPattern?
    }

    var headers: [Header] = []
    var timeout: Duration?
    var maximumBytes: Int64 = 200_000_000
    /// Of `get` alone: `info` takes no memory for pixels.
    var maximumPixels = 100_000_000
    var maximumRedirects = 20
    /// Bytes per second, averaged over 30 s; 0 disables it.
    var minimumRate = 1024
    var certificateFile: String?
    var connectsToPublicOnly = false
    var decoding = DecodeIsolation.auto
    var drawsSVG = false
    var json = false
    var isQuiet = false
    var isVerbose = false

    static let names = [
        "--header", "--header-for", "--timeout", "--min-rate", "--max-bytes", "--max-redirects", "--cacert",
        "--public-only", "--decode", "--svg", "--json", "--quiet", "--verbose", "--help", "--version",
    ]

    /// Takes the option if it is one of these.
    /// - Returns: whether it was.
    mutating func take(
        _ name: String, attached: String?, from reader: inout ArgumentReader
    ) throws(UsageError) -> Bool {
        switch name {
        case "--header":
            let text = try reader.value(of: name, attached: attached, "a header such as 'Accept: image/webp'")
            let header = try OptionValue.header(text, of: name)
            headers.append(Header(name: header.name, value: header.value))
        case "--header-for":
            let host = try OptionValue.host(
                try reader.value(of: name, attached: attached, "a host, then a header"), of: name)
            let text = try reader.value(of: name, attached: nil, "behind the host, a header such as 'Cookie: a=b'")
            let header = try OptionValue.header(text, of: name)
            headers.append(Header(name: header.name, value: header.value, host: host))
        case "--timeout":
            timeout = try OptionValue.seconds(try reader.value(of: name, attached: attached, "seconds"), of: name)
        case "--min-rate":
            let text = try reader.value(of: name, attached: attached, "bytes per second")
            minimumRate = try OptionValue.integer(text, of: name, in: 0...Int.max)
        case "--max-bytes":
            let text = try reader.value(of: name, attached: attached, "a number of bytes")
            maximumBytes = Int64(try OptionValue.integer(text, of: name, in: 1...Int.max))
        case "--max-redirects":
            let text = try reader.value(of: name, attached: attached, "a number")
            maximumRedirects = try OptionValue.integer(text, of: name, in: 0...1000)
        case "--cacert":
            certificateFile = try reader.value(of: name, attached: attached, "a file of certificates in PEM form")
        case "--decode":
            decoding = try OptionValue.choice(
                try reader.value(of: name, attached: attached, "where to decode"), of: name,
                DecodeIsolation.allCases.map { ($0.rawValue, $0) })
        case "--json", "--quiet", "--verbose", "--svg", "--public-only":
            try reader.expectNoValue(of: name, attached: attached)
            switch name {
            case "--json": json = true
            case "--quiet": isQuiet = true
            case "--svg": drawsSVG = true
            case "--public-only": connectsToPublicOnly = true
            default: isVerbose = true
            }
        default:
            return false
        }
        return true
    }

    func check() throws(UsageError) {
        if isQuiet && isVerbose { throw UsageError("--quiet and --verbose contradict each other.") }
    }
}
