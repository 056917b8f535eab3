import Inflight
import InflightCore
import InflightDisk

/// How `get` uses what is stored of earlier runs.
struct CacheOptions: Equatable, Sendable {
    /// `nil`: the user's own cache folder.
    var folder: String?
    var isOff = false
    var bytes: Int64 = 150_000_000
    var policy = CachePolicy.obey
    var servesStaleOnDisconnect = false

    static let names = ["--cache", "--no-cache", "--cache-size", "--cache-policy", "--stale-on-disconnect"]

    /// Takes the option if it is one of these.
    /// - Returns: whether it was.
    mutating func take(
        _ name: String, attached: String?, from reader: inout ArgumentReader
    ) throws(UsageError) -> Bool {
        switch name {
        case "--cache":
            folder = try Self.folder(attached: attached, from: &reader)
        case "--no-cache":
            try reader.expectNoValue(of: name, attached: attached)
            isOff = true
        case "--stale-on-disconnect":
            try reader.expectNoValue(of: name, attached: attached)
            servesStaleOnDisconnect = true
        case "--cache-size":
            let text = try reader.value(of: name, attached: attached, "a number of bytes")
            let least = Int(DiskStore.Configuration.minimumLimit)
            let number = try OptionValue.integer(text, of: name, in: 0...Int.max)
            guard number >= least else {
                throw UsageError(
                    "--cache-size takes at least \(least) bytes (8 MiB), not \(text.quoted): the index of the cache and "
                        + "its log take room too.")
            }
            bytes = Int64(number)
        case "--cache-policy":
            let choices = CachePolicy.allCases.map { (name: $0.rawValue, value: $0) }
            let list = choices.map(\.name).joined(separator: ", ")
            let text = try reader.value(of: name, attached: attached, "one of \(list)")
            policy = try OptionValue.choice(text, of: name, choices)
        default:
            return false
        }
        return true
    }

    /// The value of `--cache`.
    static func folder(attached: String?, from reader: inout ArgumentReader) throws(UsageError) -> String {
        let text = try reader.value(of: "--cache", attached: attached, "the directory of a cache")
        if text == "" { throw UsageError("--cache needs the name of a directory, not \"\".") }
        return text
    }

    func check() throws(UsageError) {
        guard isOff else { return }
        if folder != nil { throw UsageError("--cache and --no-cache contradict each other.") }
        if servesStaleOnDisconnect {
            throw UsageError("--stale-on-disconnect needs a cache, so not --no-cache.")
        }
        if policy == .onlyCached { throw UsageError("--cache-policy only-cached needs a cache, so not --no-cache.") }
    }
}
