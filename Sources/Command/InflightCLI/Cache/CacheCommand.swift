import Inflight
import InflightConcurrency
import InflightCore
import InflightDisk

/// One run of `inflight cache`: inspects, verifies or clears a cache. It never creates one.
struct CacheCommand: Sendable {
    let options: CacheCommandOptions
    let folder: String
    private let store: DiskStore

    init(options: CacheCommandOptions, folder: String) {
        self.options = options
        self.folder = folder
        store = CacheFolder.existing(folder) { text in
            StandardStream.error.say("inflight: \(TerminalText.safe(text))\n")
        }
    }

    private var text: CacheText { CacheText(folder: folder, json: options.json, style: Style.of(.output)) }

    /// - Returns: The exit status.
    func run() async -> Int32 {
        var status = ExitStatus.success
        do {
            status = try await perform()
        } catch let error as StandardStream.WriteError {
            status = error.reported()
        } catch {
            preconditionFailure("A cache command threw \(error).")
        }
        await store.shutdown()
        return status
    }

    private func perform() async throws -> Int32 {
        let before: DiskStore.Statistics
        do throws(LoadError) {
            before = try await store.statistics()
        } catch {
            guard error.code == .notStored else { return try refused(error, ExitStatus.noInput) }
            try write(text.absent(options.action))
            return ExitStatus.success
        }
        do {
            switch options.action {
            case .stat: try write(text.statistics(before))
            case .list: try await list()
            case .verify:
                let found = try await store.verify()
                try write(text.verification(found))
                if !found.damage.isEmpty { return ExitStatus.failure }
            case .clear:
                let removed = try await store.clear(options.target.clearing(now: Self.now))
                try write(text.cleared(removed, before: before, after: try await store.statistics()))
            }
            return ExitStatus.success
        } catch let error as LoadError {
            return try refused(error, ExitStatus.failure)
        }
    }

    private func list() async throws {
        let columns = StandardStream.output.maximumLineWidth
        let now = Self.now
        var last: StoredEntry.ID?
        while true {
            let page = try await store.list(after: last)
            guard let end = page.last else { return }
            last = end.id
            try write(page.flatMap { text.entry($0, now: now, columns: columns) })
        }
    }

    private static var now: WallTime { WallTime(secondsSince1970: SystemClock().secondsSince1970()) }

    private func write(_ bytes: [UInt8]) throws(StandardStream.WriteError) { try StandardStream.output.write(bytes) }

    /// Reports why the cache cannot be read or changed.
    private func refused(_ error: LoadError, _ status: Int32) throws(StandardStream.WriteError) -> Int32 {
        StandardStream.error.say("inflight: \(TerminalText.safe(error.message))\n")
        if options.json { try write(text.failure(error)) }
        return status
    }
}
