@testable import InflightCore

extension Target {
    /// `Cache-Control`, each line of the input one line of the field.
    static let cacheControl = Target(name: "cache-control") { bytes in
        let lines = bytes.lines
        let control = CacheControl(HTTPFields("Cache-Control", lines))
        for seconds in [control.maxAge, control.minFresh, control.staleWhileRevalidate, control.staleIfError] {
            if let seconds { require((0...1 << 31).contains(seconds), "seconds are within RFC 9111 section 1.2.2") }
        }
        if let seconds = control.maxStale {
            require((0...1 << 31).contains(seconds) || seconds == .max, "max-stale is bounded, or any")
        }
        require(control.noCacheFields.allSatisfy { !$0.isEmpty }, "a field has a name")

        let upper = lines.map { line in line.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }[...] }
        require(CacheControl(HTTPFields("cache-control", upper)) == control, "case makes no difference")

        // A quotation mark that a line leaves open ends with it.
        if !bytes.contains(UInt8(ascii: "\"")) {
            let joined = lines.joined(separator: Array(", ".utf8))
            require(
                CacheControl(HTTPFields("Cache-Control", [Array(joined)[...]])) == control,
                "all lines count as one list")
        }
        let forbidding = CacheControl(HTTPFields("Cache-Control", lines + [Array("no-store".utf8)[...]]))
        require(forbidding.noStore, "nothing hides a no-store in a line of its own")
    }
}
