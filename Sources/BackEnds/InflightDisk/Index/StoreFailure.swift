internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// A failure of the store, before it is turned into an error for the owner.
enum StoreFailure: Error {
    case database(DatabaseError)
    /// With the name of the file that could not be read or written.
    case file(SystemError, String)
    /// The files belong to another program or a newer version, and are left alone.
    case refused(LoadError)
    /// The index has been removed or replaced.
    case replaced
    /// There is not enough space yet. Nothing was changed.
    case outOfSpace

    var isDamage: Bool {
        if case .database(let error) = self { return error.isDamage }
        return false
    }

    var isLogFull: Bool {
        if case .database(let error) = self { return error.isLogFull }
        return false
    }

    /// Returns the error for the owner of the folder.
    func error(folder: String) -> LoadError {
        switch self {
        case .refused(let error): error
        case .replaced:
            LoadError(
                .cannotRead, stage: .store,
                message: "The cache \(folder) was removed or replaced while in use. It will be reopened.")
        case .outOfSpace:
            LoadError(
                .cannotWrite, stage: .store,
                message: "The cache \(folder) is full: nothing more can be evicted. Raise its limit.")
        case .file(let error, let name): Self.unusable("The cache \(folder)", "\(name): \(error.systemText)", error)
        case .database(let error): Self.unusable("The index of the cache \(folder)", error.text, error)
        }
    }

    private static func unusable(_ subject: String, _ reason: String, _ error: any Error) -> LoadError {
        LoadError(
            .cannotWrite, stage: .store,
            message: "\(subject) cannot be used: \(reason). Check that the folder is writable and that the disk has "
                + "free space.", underlying: error)
    }

    private static func refusal(_ message: String, _ code: LoadError.Code = .cannotWrite) -> StoreFailure {
        .refused(LoadError(code, stage: .store, message: message))
    }

    static func foreign(_ folder: String) -> StoreFailure {
        refusal(
            "The folder \(folder) contains other files and was not changed. Specify an empty folder or "
                + "one that does not exist.")
    }

    static func othersFolder(_ folder: String) -> StoreFailure {
        refusal(
            "The cache \(folder) belongs to another user, who could change it. It was not changed. Specify "
                + "a folder that you own.")
    }

    static func linked(_ folder: String) -> StoreFailure {
        refusal(
            "The folder bodies in the cache \(folder) is a symbolic link, and was not followed. Remove the "
                + "link, or make the cache folder itself the link.")
    }

    /// There is no cache and none may be created.
    static func absent(_ folder: String) -> StoreFailure {
        refusal("No cache found in \(folder).", .notStored)
    }

    static func newer(_ folder: String, layout: Int64, known: Int64) -> StoreFailure {
        refusal(
            "The cache \(folder) has layout \(layout); this program supports layouts up to \(known). It was not "
                + "changed. Use a newer program, or another folder.", .cannotRead)
    }
}

/// Runs `body` and wraps SQLite's errors in the store's own.
func inDatabase<Result: ~Copyable>(_ body: () throws(DatabaseError) -> Result) throws(StoreFailure) -> Result {
    do {
        return try body()
    } catch {
        throw .database(error)
    }
}

/// Returns a value, and wraps SQLite's errors in the store's own.
func inDatabase<Result: ~Copyable>(
    _ value: @autoclosure () throws(DatabaseError) -> Result
) throws(StoreFailure) -> Result {
    do { return try value() } catch { throw .database(error) }
}

/// Returns a value, and wraps the file system's errors in the store's own.
func inFiles<Result>(
    _ name: String, _ value: @autoclosure () throws(SystemError) -> Result
) throws(StoreFailure) -> Result {
    do { return try value() } catch { throw .file(error, name) }
}

/// Runs `body` and wraps the file system's errors in the store's own.
func inFiles<Result>(_ name: String, _ body: () throws(SystemError) -> Result) throws(StoreFailure) -> Result {
    do {
        return try body()
    } catch {
        throw .file(error, name)
    }
}
