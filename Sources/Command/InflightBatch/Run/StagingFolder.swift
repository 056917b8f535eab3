internal import Glibc
internal import InflightCore

/// The folder of images that wait for their shard, in a file for each row.
struct StagingFolder: Sendable {
    static let name = "staging"

    let path: String

    /// Creates the folder in the folder of the output.
    init(in folder: String) throws(OutputError) {
        path = folder + "/" + Self.name
        try OutputFolder.create(path)
    }

    /// The path of a row's image.
    func file(_ row: Int) -> String { "\(path)/\(row)" }

    /// Returns whether a row's image is there, with this size in bytes.
    func contains(_ row: Int, size: Int64) -> Bool {
        var found = stat()
        return unsafe lstat(file(row), &found) == 0 && Int64(found.st_size) == size
    }

    /// Stores a row's image. It is incomplete if the process ends meanwhile, so record it only afterwards.
    func write(_ image: Bytes, row: Int) throws(OutputError) -> Int64 {
        let path = file(row)
        // A file of this name may be linked into a shard, so it must not be written to.
        unsafe unlink(path)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw OutputError(.create, path) }
        defer { close(descriptor) }
        try unsafe image.withUnsafeBytes { bytes throws(OutputError) in
            try unsafe OutputFile.write(bytes, to: descriptor, path)
        }
        return Int64(image.count)
    }

    /// Removes the image of a row.
    func remove(_ row: Int) { unsafe unlink(file(row)) }

    /// Removes all files of rows that are not to be kept, and temporary ones.
    func removeFiles(keeping isKept: (Int) throws(JournalError) -> Bool) throws(BatchFailure) {
        for name in try BatchFailure.writing({ () throws(OutputError) in try OutputFolder.names(in: path) }) {
            let row = Int(name)
            if let row, try BatchFailure.recording({ () throws(JournalError) in try isKept(row) }) { continue }
            guard unsafe unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
                throw .output(OutputError(.remove, "\(path)/\(name)"))
            }
        }
    }
}

extension BatchFailure {
    static func writing<Result>(_ body: () throws(OutputError) -> Result) throws(BatchFailure) -> Result {
        do throws(OutputError) { return try body() } catch { throw .output(error) }
    }

    static func recording<Result>(_ body: () throws(JournalError) -> Result) throws(BatchFailure) -> Result {
        do throws(JournalError) { return try body() } catch { throw .journal(error) }
    }

    static func rejecting<Result>(_ body: () throws(LoadError) -> Result) throws(BatchFailure) -> Result {
        do throws(LoadError) { return try body() } catch { throw .rejects(error) }
    }
}
