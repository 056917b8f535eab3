internal import Glibc

/// The sources of host names in `/etc/nsswitch.conf` (nsswitch.conf(5)).
enum NameServiceSwitch {
    /// Returns whether names come from sources other than the hosts file and DNS, such as multicast DNS.
    static func hasOtherSources(_ text: String) -> Bool {
        for line in text.split(separator: "\n") {
            let words = line.prefix { $0 != "#" }
            guard let colon = words.firstIndex(of: ":"),
                words[..<colon].filter({ !$0.isWhitespace }) == "hosts"
            else { continue }
            var isReaction = false
            for word in words[words.index(after: colon)...].split(whereSeparator: { $0 == " " || $0 == "\t" }) {
                if word.hasPrefix("[") { isReaction = true }
                if !isReaction, word != "files", word != "dns" { return true }
                if word.hasSuffix("]") { isReaction = false }
            }
            return false
        }
        return false
    }

    static func systemHasOtherSources() -> Bool {
        let descriptor = unsafe open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return false }
        return hasOtherSources(String(decoding: bytes[..<count], as: UTF8.self))
    }
}
