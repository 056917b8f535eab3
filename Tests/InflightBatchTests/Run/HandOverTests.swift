import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Runs that hand their shards over", .timeLimit(.minutes(5)))
struct HandOverTests {
    private let world: BatchWorld
    private static let shards = 4

    init() throws {
        world = try BatchWorld()
        try #require(unsafe mkdir(world.directory.appending("store"), 0o755) == 0)
        for index in 0..<9 { world.serveImage("/\(index)", width: 10 + index, seed: index) }
    }

    private func url(_ path: String) -> String { world.server.url(path) }

    /// Eleven rows in four shards, with duplicates in later shards of an image and of a failure.
    private var rows: [String] { ["0", "1", "gone", "2", "3", "4", "0", "5", "gone", "6", "7"].map { url("/\($0)") } }

    /// A program that stores files and notes its calls, after `first`.
    private func program(_ first: String = "") throws -> ThenProgram {
        let store = world.directory.appending("store")
        world.directory.write(
            "then.sh", "#!/bin/sh\n\(first)\necho \"$1\" >> '\(store)/calls'\ncp \"$1\" '\(store)/'\n")
        try #require(unsafe chmod(world.directory.appending("then.sh"), 0o755) == 0)
        var program = try #require(ThenProgram(world.directory.appending("then.sh")))
        program.pause = .zero
        return program
    }

    private func configuration(_ program: ThenProgram?) throws -> BatchConfiguration {
        var configuration = try world.configuration(rows, shardSize: 3)
        configuration.then = program
        // One row after the other, so that shards are finished, and handed over, while rows are read.
        configuration.rows.schedule.maximumRequests = 1
        return configuration
    }

    private var calls: [String] {
        let text = String(
            decoding: TemporaryDirectory.read(world.directory.appending("store/calls")) ?? [], as: UTF8.self)
        return text.split(separator: "\n").map { String($0.split(separator: "/").last ?? "") }
    }

    private static func names(_ shard: Int) -> [String] {
        ["0000\(shard).tar", "0000\(shard).jsonl.zst", "0000\(shard)_stats.json"]
    }

    private static let names = (0..<shards).flatMap(names)

    private func localNames() -> [String] {
        TemporaryDirectory.names(world.folder).filter { $0.hasPrefix("0000") }.sorted()
    }

    /// The archives and sidecars that were handed over, and those of an uninterrupted run.
    private func outputs() async throws -> (found: [String: [UInt8]], expected: [String: [UInt8]]) {
        let found = world.output(world.directory.appending("store"))
        var configuration = try configuration(program())
        configuration.folder = world.directory.appending("expected")
        #expect(try await world.run(configuration).isFinished)
        return (found, world.output(world.directory.appending("store")))
    }

    private func expectEqualOutputs() async throws {
        let (found, expected) = try await outputs()
        #expect(found.count == 8 && found == expected)
    }

    @Test("Each file of a shard is handed over once, archives first, and removed; the run is complete without them")
    func everything() async throws {
        let configuration = try configuration(program())
        #expect(try await world.run(configuration).isFinished)
        #expect(calls.sorted() == Self.names.sorted())
        for shard in 0..<Self.shards { #expect(calls.filter(Self.names(shard).contains) == Self.names(shard)) }
        #expect(localNames().isEmpty)
        // Images are those of a run without a program.
        let found = world.output(world.directory.appending("store"))
        var other = try self.configuration(nil)
        other.folder = world.directory.appending("other")
        #expect(try await world.run(other).isFinished)
        for (name, bytes) in world.output(other.folder) where name.hasSuffix(".tar") { #expect(found[name] == bytes) }
        // A URL is requested once for each shard that names it.
        #expect(world.server.requestCount == 11 + 9)

        let requests = world.server.requestCount
        #expect(try await world.run(configuration).isFinished)
        #expect(world.server.requestCount == requests && calls.count == Self.names.count)
        let journal = try Journal(reading: world.folder)
        #expect(try journal.handedOverShards.count == 4 && journal.absentShards().count == 4)
        let report = try ShardVerifier.verify(folder: world.folder, codecs: BatchWorld.codecs)
        #expect(report.problems.isEmpty && report.absentShards == 4 && report.checkedShards == 0 && report.isComplete)
    }

    @Test("With keepsFiles, the files stay, and a run that is repeated does not hand them over again")
    func kept() async throws {
        var configuration = try configuration(program())
        configuration.then?.keepsFiles = true
        for _ in 0..<2 { #expect(try await world.run(configuration).isFinished) }
        #expect(calls.count == Self.names.count && localNames() == Self.names.sorted())
        #expect(try ShardVerifier.verify(folder: world.folder, codecs: BatchWorld.codecs).problems.isEmpty)
        configuration.then?.keepsFiles = false
        #expect(try await world.run(configuration).isFinished)
        #expect(calls.count == Self.names.count && localNames().isEmpty)
    }

    @Test("A run that is stopped anywhere hands over every shard as an uninterrupted one", arguments: 1...8)
    func resumption(count: Int) async throws {
        let configuration = try configuration(program())
        var rounds = 0
        while true {
            let seen = Guarded(0)
            let ending = try await world.run(configuration) { event in
                switch event {
                case .rowEnded, .handedOver:
                    seen.withLock {
                        $0 += 1; return $0 >= count
                    }
                default: false
                }
            }
            if ending.isFinished { break }
            #expect(ending.isStopped)
            rounds += 1
            try #require(rounds < 40)
        }
        #expect(Set(calls) == Set(Self.names) && localNames().isEmpty)
        try await expectEqualOutputs()
    }

    @Test(
        "A run that begins to hand over shares no images of shards that leave, and none that has begun shares lost ones"
    )
    func duplicates() async throws {
        // The first rows of a run without a program: duplicates of other shards are recorded.
        let ending = try await world.run(configuration(nil)) { event in
            if case .rowEnded(let end) = event { end.row == 7 } else { false }
        }
        #expect(ending.isStopped)
        #expect(try await world.run(configuration(program())).isFinished && localNames().isEmpty)
        // The images of the finished shards are not here any more.
        world.serveImage("/8", width: 40)
        world.directory.write("more.txt", [url("/0"), url("/8"), url("/8")].map { $0 + "\n" }.joined())
        var more = try configuration(nil)
        for name in Self.names(3) {
            let bytes = try #require(TemporaryDirectory.read(world.directory.appending("store/\(name)")))
            world.directory.write("out/\(name)", bytes)
        }
        more.inputs += try InputSource.expanding([world.directory.appending("more.txt")])
        #expect(try await world.run(more).isFinished)
        #expect(
            try world.rows(of: 4, more) == ["000040000 success 40", "000040001 success 40"]
                && world.rows(of: 3, more).last == "000030002 success 10")
        #expect(world.server.requests.count { $0.path == "/8" } == 1)
    }

    @Test("A program that fails is called five times for a file, then the run fails, and can be resumed")
    func failures() async throws {
        let flag = world.directory.appending("broken")
        world.directory.write("broken", "")
        let failing = "case $1 in *1.jsonl.zst) [ ! -e '\(flag)' ] || { echo \"$1\" >> '\(flag)'; exit 7; };; esac"
        let configuration = try configuration(program(failing))
        let ending = try await world.run(configuration)
        #expect(ending.message.contains("then.sh ended with status 7 for \(world.folder)/00001.jsonl.zst."))
        #expect(ending.message.contains("It has failed 5 times."), "\(ending.message)")
        let tries = String(decoding: TemporaryDirectory.read(flag) ?? [], as: UTF8.self).split(separator: "\n")
        #expect(tries.count == 5)
        let warnings = world.events.withLock { $0.count { if case .warning = $0 { true } else { false } } }
        #expect(warnings == 4)
        #expect(localNames().count >= 3)

        unsafe unlink(flag)
        let requests = Set(world.server.requests.map(\.path)).count
        #expect(try await world.run(configuration).isFinished)
        #expect(Set(calls) == Set(Self.names) && localNames().isEmpty && requests <= 9)
        try await expectEqualOutputs()
    }

    @Test("A program that hangs, is killed or is gone is a failure that says so")
    func hanging() async throws {
        for (script, text) in [("exec sleep 1000", "did not end within 0 s"), ("kill -9 $$", "was ended by signal 9")] {
            var configuration = try configuration(program(script))
            configuration.folder = world.directory.appending(String(script.prefix(4)))
            configuration.then?.attempts = 1
            configuration.then?.timeLimit = .milliseconds(100)
            let ending = try await world.run(configuration)
            #expect(ending.message.contains(text), "\(ending.message)")
        }
        let configuration = try configuration(program())
        unsafe unlink(world.directory.appending("then.sh"))
        let ending = try await world.run(configuration)
        #expect(ending.message.contains("cannot be run (No such file or directory)"), "\(ending.message)")
        #expect(ThenProgram(world.directory.appending("then.sh")) == nil && ThenProgram("/tmp") == nil)
        #expect(ThenProgram("in.txt") == nil && ThenProgram("sh")?.path.hasSuffix("/sh") == true)
    }

    @Test("A stopped run ends a program that runs, with what it has started")
    func stopped() async throws {
        let ready = world.directory.appending("ready")
        unsafe mkfifo(ready, 0o600)
        // Opening the pipe waits for the other end: the run is stopped while the program waits.
        let configuration = try configuration(program("sleep 1000 & echo $! > '\(ready).pid'; cat '\(ready)'"))
        let ending = try await world.run(configuration) { event in
            if case .shardFinished(3, _) = event { true } else { false }
        }
        #expect(ending.isStopped && calls.isEmpty)
    }

    @Test("Shards that are not here any more are named where they are needed, and nothing else needs them")
    func absent() async throws {
        world.server.serve("/gone", .status(503))
        var configuration = try configuration(program())
        #expect(try await world.run(configuration).isFinished)
        configuration.retriedClasses = []
        let failure = await #expect(throws: BatchFailure.self) { try await world.run(configuration) }
        #expect(failure == .absent(world.folder, shards: ["00000", "00002"]))
        #expect("\(try #require(failure))".hasPrefix("Shards 00000, 00002 of the run in \(world.folder) are not in"))

        // Put back, they are written again, and handed over again.
        world.serveImage("/gone", width: 30)
        for name in Self.names(0) + Self.names(2) {
            let bytes = try #require(TemporaryDirectory.read(world.directory.appending("store/\(name)")))
            world.directory.write("out/\(name)", bytes)
        }
        #expect(try await world.run(configuration).isFinished)
        #expect(calls.count == Self.names.count + 6 && localNames().isEmpty)
        try await expectEqualOutputs()

        // The last shard is short: it is needed if rows follow.
        #expect(try await world.run(self.configuration(nil)).isFinished)
        configuration.retriedClasses = nil
        world.directory.write("in.txt", (rows + [url("/8")]).map { $0 + "\n" }.joined())
        configuration.inputs = try InputSource.expanding([world.directory.appending("in.txt")])
        let ending = try await world.run(configuration)
        #expect(ending.message.contains("Shard 00003 of the run"), "\(ending.message)")
    }
}
