/// Where things lie in the folder of a cache.
struct CachePaths: Sendable, Hashable {
    let folder: String

    var tag: String { folder + "/CACHEDIR.TAG" }
    var newTag: String { folder + "/CACHEDIR.TAG.new" }
    var lock: String { folder + "/lock" }
    var index: String { folder + "/index.sqlite" }
    var log: String { index + "-wal" }
    var sharedMemory: String { index + "-shm" }
    var journal: String { index + "-journal" }
    var newIndex: String { folder + "/index.new" }
    var bodies: String { folder + "/bodies" }

    /// What a start that was killed may have left in a folder without a tag, or with one of no bytes.
    static let namesWithoutTag: Set<String> = ["lock", "CACHEDIR.TAG.new", "CACHEDIR.TAG"]

    /// Two letters for a folder, so that none holds too many.
    func bodyFolder(_ file: Int64) -> String {
        bodies + "/" + String(Self.name(file).prefix(2))
    }

    func body(_ file: Int64) -> String {
        bodyFolder(file) + "/" + Self.name(file)
    }

    /// 16 hexadecimal digits.
    static func name(_ file: Int64) -> String {
        let digits = String(UInt64(bitPattern: file), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The number that a name stands for; `nil` for other names.
    static func file(_ name: String) -> Int64? {
        guard name.utf8.count == 16, let number = UInt64(name, radix: 16), Self.name(Int64(bitPattern: number)) == name
        else { return nil }
        return Int64(bitPattern: number)
    }
}
