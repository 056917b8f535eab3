import Glibc
import InflightTestSupport
import Testing

@testable import InflightBatch

/// The folder of a run, and what its tests do with it.
struct RunFolder {
    let directory = TemporaryDirectory()
    var path: String { directory.appending("run") }
    var layout = ShardLayout(shardSize: 4)!

    func open(_ options: [String: String] = ["format": "jpeg"]) throws(BatchFailure) -> Journal {
        try Journal(folder: path, options: options, layout: layout)
    }

    /// Returns the error of the journal with which opening fails.
    func openError(_ options: [String: String] = ["format": "jpeg"]) -> JournalError? {
        do throws(BatchFailure) {
            _ = try open(options)
            return nil
        } catch {
            guard case .journal(let failure) = error else {
                Issue.record(error)
                return nil
            }
            return failure
        }
    }

    func read(_ name: String) -> [UInt8]? { directory.read("run/" + name) }

    func write(_ name: String, _ bytes: [UInt8]) { directory.write("run/" + name, bytes) }

    var names: [String] { TemporaryDirectory.names(path) }

    /// Copies the journal and its log as they are now, as if the process had been killed.
    func killed() throws -> RunFolder {
        let copy = RunFolder()
        #expect(unsafe mkdir(copy.path, 0o755) == 0)
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            if let bytes = read(name) { copy.write(name, bytes) }
        }
        return copy
    }
}

func success(
    _ number: Int, host: String = "a.test", size: Int64 = 10, offset: Int64 = 0, _ image: ImageRecord = .init()
) -> JournalRow {
    let staged = StagedImage(offset: offset, size: size, sum: UInt64.max - UInt64(number), record: image)
    return JournalRow(number: number, host: host, outcome: .success(staged))
}

func failed(_ number: Int, _ name: String = "dns", host: String = "a.test") -> JournalRow {
    JournalRow(number: number, host: host, outcome: .failure(class: name, message: "No address for \(host)."))
}

func duplicate(_ number: Int, of original: Int, host: String = "a.test") -> JournalRow {
    JournalRow(number: number, host: host, outcome: .duplicate(of: original))
}

extension JournalRow {
    /// The row in one line.
    var text: String {
        switch outcome {
        case .success(let image): "\(number) \(host) success \(image.size)"
        case .failure(let name, let message): "\(number) \(host) \(name): \(message)"
        case .duplicate(let original): "\(number) \(host) = \(original)"
        }
    }
}

extension Journal {
    func record(_ rows: [JournalRow]) throws { for row in rows { try record(row) } }
}
