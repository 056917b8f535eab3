internal import InflightConcurrency

/// Connections that read, one for each thread that is at it. Writers do not hold them up, nor they writers.
final class ReaderPool: Sendable {
    private let fileSystem: any FileSystem
    /// SQLite's own.
    private let indexFileSystem: String?
    /// What the writer has found to be ours.
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
        /// Nothing is open; the writer has to look.
        case notOpen
        case failed(DatabaseError, OpenIndex)
    }

    /// Reads in one connection, on this thread.
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
            // The connection is not used again: whatever was wrong with it goes with it.
            return .failed(error, index)
        }
    }

    private func take(_ index: OpenIndex) throws(DatabaseError) -> Connection {
        while let connection = idle.withLock({ $0.popLast() }) {
            if connection.index == index { return connection }
        }
        let database = try Database(
            path: index.paths.index, mode: .reading, fileSystem: indexFileSystem, waitingAtMost: OpenCache.patience)
        try database.run("PRAGMA cache_size = -1000")
        database.copiesLogWhenClosed()
        return Connection(database: database, index: index)
    }

    /// Lets go of all connections but those in use.
    func closeIdle() {
        let closed = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        withExtendedLifetime(closed) {}
    }
}
