internal import InflightConcurrency
internal import InflightFiles
internal import InflightSQLite

/// Connections for reading, one per active thread. Readers and writers do not block each other.
final class ReaderPool: Sendable {
    private let fileSystem: any FileSystem
    /// The name of SQLite's VFS.
    private let indexFileSystem: String?
    /// The index that the writer has verified as ours.
    private let opened: Guarded<OpenIndex?>
    private let idle = Guarded<[Connection]>([])

    struct Connection: Sendable {
        let database: Database
        let index: OpenIndex
    }

    init(_ configuration: DiskStore.Configuration, opened: Guarded<OpenIndex?>) {
        fileSystem = configuration.fileSystem
        indexFileSystem = configuration.indexFileSystem
        self.opened = opened
    }

    enum Result<Value> {
        case value(Value)
        /// No index is open. The writer has to check.
        case notOpen
        case failed(DatabaseError, OpenIndex)
    }

    /// Runs `body` in one connection, on this thread.
    func read<Value>(_ body: (Connection) throws(DatabaseError) -> Value) -> Result<Value> {
        guard let index = opened.withLock({ $0 }),
            (try? fileSystem.status(index.paths.index))?.identity == index.index
        else {
            closeIdle()
            return .notOpen
        }
        do throws(DatabaseError) {
            let connection = try take(index)
            let value = try body(connection)
            idle.withLock { $0.append(connection) }
            return .value(value)
        } catch {
            // The failed connection is not used again, in case it is at fault.
            return .failed(error, index)
        }
    }

    private func take(_ index: OpenIndex) throws(DatabaseError) -> Connection {
        while let connection = idle.withLock({ $0.popLast() }) {
            if connection.index == index { return connection }
        }
        let database = try Database(
            path: index.paths.index, mode: .reading, fileSystem: indexFileSystem, waitingAtMost: OpenCache.busyTimeout)
        try database.run("PRAGMA cache_size = -1000")
        database.copiesLogWhenClosed()
        return Connection(database: database, index: index)
    }

    /// Closes all connections that are not in use.
    func closeIdle() {
        let closed = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        withExtendedLifetime(closed) {}
    }
}
