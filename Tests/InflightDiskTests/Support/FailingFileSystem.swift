import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightFiles

/// The system's files, except that one operation fails or a test changes how they behave.
final class FailingFileSystem: FileSystem {
    enum Fault: CaseIterable {
        case inputOutput
        case noSpace
        /// Half of the bytes are written, and nothing more.
        case shortWrite
        /// The operation reports success but has no effect, as when a power cut loses a name.
        case lost
    }

    private struct State {
        var count = 0
        var hasFailed = false
        var hasFailedChange = false
        var threads: Set<UInt> = []
        /// Whether the disk accepts no more bytes.
        var isFull = false
    }

    private let system = SystemFileSystem()
    private let state = Guarded(State())
    private let failing: Int?
    private let fault: Fault
    private let beforeWrite: @Sendable () -> Void
    private let beforeListing: @Sendable () -> Void

    /// - Parameter failing: The number of the operation that fails; if `nil`, none does.
    init(
        failing: Int? = nil, fault: Fault = .inputOutput, beforeWrite: @escaping @Sendable () -> Void = {},
        beforeListing: @escaping @Sendable () -> Void = {}
    ) {
        self.failing = failing
        self.fault = fault
        self.beforeWrite = beforeWrite
        self.beforeListing = beforeListing
    }

    var hasFailed: Bool { state.withLock { $0.hasFailed } }
    /// Whether the failed operation needed space or changed something.
    var hasFailedChange: Bool { state.withLock { $0.hasFailedChange } }
    /// Makes every operation that needs space fail from now on, or succeed again.
    func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }
    var threads: Set<UInt> { state.withLock { $0.threads } }

    /// - Returns: Whether the operation is lost.
    ///
    /// - Parameter isWriting: Whether the operation needs space or changes something.
    private func count(isWriting: Bool = false) throws(SystemError) -> Bool {
        if isWriting, state.withLock({ $0.isFull }) { throw .noSpace }
        // A full disk can still be read.
        if fault == .noSpace, !isWriting {
            state.withLock { _ = $0.threads.insert(UInt(pthread_self())) }
            return false
        }
        let isFailing = state.withLock { state in
            state.threads.insert(UInt(pthread_self()))
            state.count += 1
            guard state.count == failing else { return false }
            (state.hasFailed, state.hasFailedChange) = (true, isWriting)
            return true
        }
        guard isFailing else { return false }
        switch fault {
        case .inputOutput: throw .inputOutput
        case .noSpace: throw .noSpace
        case .shortWrite, .lost: return true
        }
    }

    func makeFolder(_ path: String) throws(SystemError) {
        if try !count(isWriting: true) { try system.makeFolder(path) }
    }

    func makePrivate(_ path: String, isFolder: Bool) throws(SystemError) {
        if try !count(isWriting: true) { try system.makePrivate(path, isFolder: isFolder) }
    }

    var user: UInt32 { system.user }

    func resolved(_ path: String) throws(SystemError) -> String { try system.resolved(path) }

    func removeFolder(_ path: String) throws(SystemError) { try system.removeFolder(path) }

    func status(_ path: String) throws(SystemError) -> FileStatus {
        if try count() { throw .isMissing }
        return try system.status(path)
    }

    func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus {
        if try count() { throw .inputOutput }
        return try system.status(file)
    }

    func names(in folder: String) throws(SystemError) -> [String] {
        beforeListing()
        if try count() { throw .isMissing }
        return try system.names(in: folder)
    }

    func open(_ path: String, for use: FileUse) throws(SystemError) -> FileDescriptor {
        if try count(isWriting: use == .creating || use == .making) { throw .isMissing }
        return try system.open(path, for: use)
    }

    func read(
        _ file: FileDescriptor, at offset: Int64, into room: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        if try count() { return 0 }
        return try unsafe system.read(file, at: offset, into: room)
    }

    func write(_ file: FileDescriptor, _ bytes: Bytes, at offset: Int64) throws(SystemError) {
        beforeWrite()
        guard try count(isWriting: true) else { return try system.write(file, bytes, at: offset) }
        // The disk reports that it wrote all bytes, but did not.
        if fault == .lost { return }
        try system.write(file, bytes.part(0..<(bytes.count / 2)), at: offset)
        throw .noSpace
    }

    func synchronize(_ file: FileDescriptor) throws(SystemError) {
        if try !count(isWriting: true) { try system.synchronize(file) }
    }

    func rename(_ path: String, to other: String) throws(SystemError) {
        if try !count(isWriting: !state.withLock { $0.isFull }) { try system.rename(path, to: other) }
    }

    func remove(_ path: String) throws(SystemError) {
        if try !count(isWriting: !state.withLock { $0.isFull }) { try system.remove(path) }
    }
}
