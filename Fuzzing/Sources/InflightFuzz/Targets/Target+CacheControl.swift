@testable import InflightCore

extension Target {
    /// `Cache-Control`. Each line of the input is one field line.
    static let cacheControl = Target(name: "cache-control") { bytes in
        let lines = bytes.lines
        let control = CacheControl(HTTPFields("Cache-Control", lines))
        for seconds in [control.maxAge, control.minFresh, control.staleWhileRevalidate, control.staleIfError] {
            if let seconds { require((0...1 << 31).contains(seconds), "delta-seconds are at most 2^31 (RFC 9111)") }
        }
        if let seconds = control.maxStale {
            require((0...1 << 31).contains(seconds) || seconds == .max, "max-stale is at most 2^31, or unlimited")
        }
        require(control.noCacheFields.allSatisfy { !$0.isEmpty }, "a field name is not empty")

        let upper = lines.map { line in line.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }[...] }
        require(CacheControl(HTTPFields("cache-control", upper)) == control, "directives are case-insensitive")

        // Skip inputs with quotation marks: an unclosed quoted string ends with its line.
        if !bytes.contains(UInt8(ascii: "\"")) {
            let joined = lines.joined(separator: Array(", ".utf8))
            require(
                CacheControl(HTTPFields("Cache-Control", [Array(joined)[...]])) == control,
                "several lines are equivalent to one joined line")
        }
        let forbidding = CacheControl(HTTPFields("Cache-Control", lines + [Array("no-store".utf8)[...]]))
        require(forbidding.noStore, "no other line hides a no-store on a separate line")
    }
}
