import Inflight
import InflightConcurrency
import InflightCore
import InflightDisk

/// One `inflight cache`: looks at a cache, reads all of it, or removes what is in it. It never makes one.
struct CacheCommand: Sendable {
    let options: CacheCommandOptions
    let folder: String
    private let store: DiskStore

    /// The command ends here, and has said why.
    private struct Ending: Error {
        var status: Int32
    }

    init(options: CacheCommandOptions, folder: String) {
        self.options = options
        self.folder = folder
        store = CacheFolder.existing(folder) { text in
            StandardStream.error.say("inflight: \(TerminalText.safe(text))\n")
        }
    }

    private var text: CacheText { CacheText(folder: folder, json: options.json, style: Style.of(.output)) }

    /// - Returns: the exit status.
    func run() async -> Int32 {
        let status: Int32
        do throws(Ending) {
            status = try await perform()
        } catch {
            status = error.status
        }
        await store.shutdown()
        return status
    }

    private func perform() async throws(Ending) -> Int32 {
        let before: DiskStore.Statistics
        do throws(LoadError) {
            before = try await store.statistics()
        } catch {
            guard error.code == .notStored else { throw refused(error, CommandLineTool.ExitStatus.noInput) }
            try write(text.absent(options.action))
            return CommandLineTool.ExitStatus.success
        }
        switch options.action {
        case .stat: try write(text.statistics(before))
        case .list: try await list()
        case .verify: return try await verify()
        case .clear: try await clear(before)
        }
        return CommandLineTool.ExitStatus.success
    }

    private func list() async throws(Ending) {
        let columns = StandardStream.output.toldColumns
        let now = Self.now
        var last: StoredEntry.ID?
        while true {
            let page: [DiskStore.ListedEntry]
            do throws(LoadError) {
                page = try await store.list(after: last)
            } catch {
                throw refused(error)
            }
            guard let end = page.last else { return }
            last = end.id
            try write(page.flatMap { text.entry($0, now: now, columns: columns) })
        }
    }

    private func verify() async throws(Ending) -> Int32 {
        let found: DiskStore.Verification
        do throws(LoadError) {
            found = try await store.verify()
        } catch {
            throw refused(error)
        }
        try write(text.verification(found))
        return found.damage.isEmpty ? CommandLineTool.ExitStatus.success : CommandLineTool.ExitStatus.failure
    }

    private func clear(_ before: DiskStore.Statistics) async throws(Ending) {
        let (removed, after): (Int, DiskStore.Statistics)
        do throws(LoadError) {
            removed = try await store.clear(options.target.clearing(now: Self.now))
            after = try await store.statistics()
        } catch {
            throw refused(error)
        }
        try write(text.cleared(removed, before: before, after: after))
    }

    private static var now: WallTime { WallTime(secondsSince1970: SystemClock().secondsSince1970()) }

    private func write(_ bytes: [UInt8]) throws(Ending) {
        do throws(StandardStream.WriteError) {
            try StandardStream.output.write(bytes)
        } catch {
            throw Ending(status: CommandLineTool.status(ofOutputLost: error))
        }
    }

    /// Says why the cache cannot be looked at, or changed.
    private func refused(_ error: LoadError, _ status: Int32 = CommandLineTool.ExitStatus.failure) -> Ending {
        StandardStream.error.say("inflight: \(TerminalText.safe(error.message))\n")
        guard options.json else { return Ending(status: status) }
        do throws(Ending) {
            try write(text.failure(error))
            return Ending(status: status)
        } catch {
            return error
        }
    }
}
