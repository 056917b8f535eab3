internal import InflightCore

/// The paths of the files in a cache folder.
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

    /// The files that a killed start may have left in a folder with a missing or empty tag.
    static let namesWithoutTag: Set<String> = ["lock", "CACHEDIR.TAG.new", "CACHEDIR.TAG"]

    /// Returns the folder of a body, named by two digits so that no folder holds too many files.
    func bodyFolder(_ file: Int64) -> String {
        bodies + "/" + String(Self.name(file).prefix(2))
    }

    func body(_ file: Int64) -> String {
        bodyFolder(file) + "/" + Self.name(file)
    }

    /// Returns the file name: 16 hexadecimal digits.
    static func name(_ file: Int64) -> String {
        Hexadecimal.text(UInt64(bitPattern: file))
    }

    /// Returns the number that a file name represents, or nil for other names.
    static func file(_ name: String) -> Int64? {
        guard name.utf8.count == 16, let number = UInt64(name, radix: 16), Self.name(Int64(bitPattern: number)) == name
        else { return nil }
        return Int64(bitPattern: number)
    }
}
