internal import InflightSQLite

/// The file that identifies the folder as a cache. Backup programs skip such folders, and Inflight writes and deletes
/// only in a folder with its own tag. See https://bford.info/cachedir/.
struct FolderTag: Hashable {
    /// The cache's identity, the seed of its checksums.
    var identity: UInt64
    var layout: Int64

    private static let signature = "Signature: 8a477f597d28d172789f06886806bc55"
    private static let remark = "# Disk cache of Inflight. It is safe to delete this directory."

    var text: String {
        let line = "# inflight \(layout) \(CachePaths.name(Int64(bitPattern: identity)))"
        return [Self.signature, Self.remark, line + " " + Self.check(line)].joined(separator: "\n") + "\n"
    }

    private static func check(_ line: String) -> String {
        CachePaths.name(Int64(bitPattern: XXH64.of(line, seed: 0)))
    }

    init(identity: UInt64, layout: Int64) {
        self.identity = identity
        self.layout = layout
    }

    /// Parses a tag. Returns nil if the bytes are not a tag or fail its check.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 4, lines[2].hasPrefix("# inflight ") else { return nil }
        let words = lines[2].split(separator: " ").map(String.init)
        guard words.count == 5, let layout = Int64(words[2]), let identity = CachePaths.file(words[3]),
            Self.check(words[..<4].joined(separator: " ")) == words[4]
        else { return nil }
        self.init(identity: UInt64(bitPattern: identity), layout: layout)
    }
}
