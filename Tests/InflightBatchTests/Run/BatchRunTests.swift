import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Batch runs over real sockets", .timeLimit(.minutes(5)))
struct BatchRunTests {
    private let world: BatchWorld

    init() throws { world = try BatchWorld() }

    private func url(_ path: String) -> String { world.server.url(path) }

    @Test("Every row is in a shard, and each URL is fetched once")
    func shards() async throws {
        for index in 0..<3 { world.serveImage("/\(index)", width: 10 + index) }
        let configuration = try world.configuration([
            url("/0"), url("/missing"), url("/0"), "no URL", url("/1"), url("/missing"), url("/2"), url("/1"),
            "ftp://h/x",
        ])
        #expect(try await world.run(configuration).isFinished)
        #expect(
            try world.rows(of: 0, configuration) == [
                "000000000 success 10", "000000001 failed_to_download", "000000002 success 10",
                "000000003 failed_to_download",
            ])
        #expect(
            try world.rows(of: 1, configuration) == [
                "000010000 success 11", "000010001 failed_to_download", "000010002 success 12", "000010003 success 11",
            ])
        #expect(try world.rows(of: 2, configuration) == ["000020000 failed_to_download"])
        var classes: [String?] = []
        for shard in 0..<3 {
            try ShardReader(shard, world.writer(configuration)).rows { classes.append($1.errorClass) }
        }
        #expect(
            classes == [nil, "http_404", nil, "invalidURL", nil, "http_404", nil, nil, "unsupportedScheme"])
        #expect(world.server.requestCount == 4)
        #expect(
            world.ends == ["success": 3, "duplicate": 3, "http_404": 1, "invalidURL": 1, "unsupportedScheme": 1])
        let names = world.namesAtEnd.withLock { $0 }
        #expect(!names.contains("staging") && !names.contains { $0.hasSuffix(".partial") })
        // SQLite's log and its index are part of the journal while they exist.
        #expect(!names.contains { $0.hasPrefix("journal.sqlite-") })
    }

    @Test("Keys of ids and digests are unique in the dataset, not only in a shard, and the same after a resumption")
    func uniqueKeys() async throws {
        for index in 0..<3 { world.serveImage("/\(index)", width: 10 + index) }
        let ids = ["a", "b", "a", "a/b", "a", "", "b", "a/b"]
        let lines = ids.enumerated().map { "{\"url\":\"\(url("/\($0.offset % 3)"))\",\"id\":\"\($0.element)\"}\n" }
        world.directory.write("in.jsonl", lines.joined())
        for keys in [BatchConfiguration.Keys.id, .digest] {
            var configuration = try world.configuration(reading: "in.jsonl", shardSize: 2)
            configuration.folder = world.directory.appending(keys.rawValue)
            configuration.keys = keys
            configuration.columns.idColumn = "id"
            while !(try await run(configuration, stoppingAfter: 3)).isFinished {}
            var found: [String] = []
            for shard in 0..<4 {
                found += try world.rows(of: shard, configuration).map { String($0.prefix { $0 != " " }) }
            }
            #expect(found.count == 8 && Set(found).count == 8, "\(found)")
            if keys == .id { #expect(found[0] == "a" && found[1] == "b" && found[2] == "a--2" && found[6] == "b--6") }
        }
    }

    @Test("A stopped run continues, fetches no recorded row again, and gives the same bytes as one without a stop")
    func resumption() async throws {
        for index in 0..<40 where index % 3 != 0 { world.serveImage("/\(index)", width: 8 + index, seed: index) }
        var configuration = try world.configuration((0..<60).map { url("/\($0 % 45)") }, shardSize: 7)
        configuration.rows.schedule.maximumRequests = 3
        var stops = 0
        while true {
            let ending = try await run(configuration, stoppingAfter: 11)
            if ending.isFinished { break }
            #expect(ending.isStopped)
            stops += 1
        }
        #expect(stops > 2)
        let paths = Dictionary(grouping: world.server.requests, by: \.path).mapValues(\.count)
        #expect(paths.count == 45)
        #expect(world.server.requestCount <= 45 + stops * configuration.rows.schedule.maximumRequests)
        let interrupted = world.output(configuration.folder)
        configuration.folder = world.directory.appending("again")
        #expect(try await world.run(configuration).isFinished)
        #expect(interrupted.count == 18 && interrupted == world.output(configuration.folder))
    }

    /// A run that stops after `count` rows have ended.
    private func run(_ configuration: BatchConfiguration, stoppingAfter count: Int) async throws -> BatchEnding {
        let ended = Guarded(0)
        return try await world.run(configuration) { event in
            guard case .rowEnded = event else { return false }
            return ended.withLock { number in
                number += 1
                return number == count
            }
        }
    }

    @Test("Staged images that are lost are fetched again, also if others have taken their places")
    func lostImages() async throws {
        for index in 0..<8 { world.serveImage("/\(index)", width: 10 + index, seed: index) }
        var configuration = try world.configuration((0..<8).map { url("/\($0)") }, shardSize: 8)
        configuration.rows.schedule.maximumRequests = 1
        #expect(try await run(configuration, stoppingAfter: 5).isStopped)
        try OutputFolder.remove(configuration.folder + "/staging")
        #expect(try await run(configuration, stoppingAfter: 2).isStopped)
        #expect(try await world.run(configuration).isFinished)
        #expect(
            try world.rows(of: 0, configuration) == (0..<8).map { "00000000\($0) success \(10 + $0)" })
    }

    @Test("A retry that was stopped continues, and fetches no recorded row again")
    func stoppedRetry() async throws {
        for index in [0, 7] { world.serveImage("/\(index)", width: 10 + index, seed: index) }
        var configuration = try world.configuration((0..<8).map { url("/\($0)") }, shardSize: 8)
        configuration.rows.schedule.maximumRequests = 1
        #expect(try await world.run(configuration).isFinished)
        for index in 1..<7 { world.serveImage("/\(index)", width: 10 + index, seed: index) }
        configuration.retriedClasses = ["http_404"]
        #expect(try await run(configuration, stoppingAfter: 3).isStopped)
        #expect(try await world.run(configuration).isFinished)
        #expect(
            try world.rows(of: 0, configuration) == (0..<8).map { "00000000\($0) success \(10 + $0)" })
        // The row in flight when the run stopped is fetched twice.
        #expect(world.server.requestCount <= 8 + 6 + 1)
    }

    @Test("A retry fetches the chosen classes only, and replaces their shards")
    func retry() async throws {
        for index in 0..<8 { world.serveImage("/\(index)", width: 10 + index) }
        world.server.serve("/2", .status(503))
        world.server.serve("/3", .status(404))
        var configuration = try world.configuration((0..<8).map { url("/\($0)") } + [url("/2")])
        #expect(try await world.run(configuration).isFinished)
        #expect(world.ends == ["success": 6, "http_503": 1, "http_404": 1, "duplicate": 1])
        world.serveImage("/2", width: 12)
        world.serveImage("/3", width: 13)
        configuration.retriedClasses = []
        #expect(try await world.run(configuration).isFinished)
        #expect(
            try world.rows(of: 0, configuration) == [
                "000000000 success 10", "000000001 success 11", "000000002 success 12", "000000003 failed_to_download",
            ])
        // The shard of the duplicate, too.
        #expect(try world.rows(of: 2, configuration) == ["000020000 success 12"])
        #expect(world.server.requestCount == 9 && world.server.requestCount(of: "/2") == 2)
        configuration.retriedClasses = ["http_404"]
        #expect(try await world.run(configuration).isFinished)
        #expect(try world.rows(of: 0, configuration).last == "000000003 success 13")
        #expect(world.server.requestCount == 10)
        let counts = try Journal(reading: configuration.folder).summary()
        #expect(counts.failures == 0 && counts.successes + counts.duplicates == 9)
    }

    @Test("An input that grew continues; its last shard is written again")
    func growth() async throws {
        for index in 0..<9 { world.serveImage("/\(index)", width: 10 + index) }
        let first = try world.configuration((0..<6).map { url("/\($0)") })
        #expect(try await world.run(first).isFinished)
        let second = try world.configuration((0..<9).map { url("/\($0)") })
        #expect(try await world.run(second).isFinished)
        #expect(
            try world.rows(of: 1, second) == (4..<8).map { "00001000\($0 - 4) success \(10 + $0)" })
        #expect(try world.rows(of: 2, second) == ["000020000 success 18"])
        #expect(world.server.requestCount == 9)
        // Without a change, nothing is done again.
        #expect(try await world.run(second).isFinished)
        #expect(world.server.requestCount == 9 && world.ends.isEmpty)
    }

    @Test("An input that changed is an error that names the first row that differs")
    func change() async throws {
        for index in 0..<6 { world.serveImage("/\(index)") }
        #expect(try await world.run(try world.configuration((0..<6).map { url("/\($0)") })).isFinished)
        var changed = (0..<6).map { url("/\($0)") }
        changed[3] = url("/5")
        let ending = try await world.run(try world.configuration(changed))
        #expect(ending.message.contains("row 4 (line 4) differs"))
        let shorter = try await world.run(try world.configuration(Array(changed[..<3])))
        #expect(shorter.message.contains("has 3 rows"))
        let other = try await world.run(try world.configuration(changed, name: "other.txt"))
        #expect(other.message.contains("other.txt (then ") && other.message.contains("row 4 (line 4) differs"))
    }

    @Test("Equal bodies are staged once, and every row has the image")
    func content() async throws {
        for path in ["/a", "/b", "/c"] { world.serveImage(path, width: 20) }
        world.serveImage("/d", width: 30)
        var configuration = try world.configuration([url("/a"), url("/b"), url("/d"), url("/c"), url("/a"), url("/c")])
        configuration.deduplicatesContent = true
        configuration.rows.schedule.maximumRequests = 1
        #expect(try await world.run(configuration).isFinished)
        #expect(world.ends == ["success": 2, "duplicate": 4])
        #expect(
            try world.rows(of: 0, configuration).map { $0.suffix(10) } == [
                "success 20", "success 20", "success 30", "success 20",
            ])
        #expect(try world.rows(of: 1, configuration).map { $0.suffix(10) } == ["success 20", "success 20"])
    }

    @Test("robots.txt is fetched once and obeyed, and servers may opt out")
    func politeness() async throws {
        world.server.serve("/robots.txt", .ok(Bytes("User-agent: inflight\nDisallow: /private\n")))
        world.serveImage("/open")
        world.serveImage("/private/1")
        world.serveImage("/out", fields: [("X-Robots-Tag", "noai")])
        var configuration = try world.configuration([url("/open"), url("/private/1"), url("/out"), url("/open?2")])
        configuration.rows.schedule.robots = .init(productToken: "inflight")
        configuration.rows.optOut = OptOut(productToken: "inflight")
        #expect(try await world.run(configuration).isFinished)
        #expect(world.ends == ["success": 2, "robots_disallowed": 1, "opt_out": 1])
        #expect(world.server.requestCount(of: "/robots.txt") == 1 && world.server.requestCount(of: "/private/1") == 0)
    }

    @Test("No host has more requests at once than its limit")
    func limit() async throws {
        world.server.serveOthers { _ in .status(404).held("all", after: 0) }
        var configuration = try world.configuration((0..<10).map { url("/\($0)") })
        configuration.rows.schedule.queue.pacer.ceiling = 2
        configuration.rows.schedule.queue.pacer.initialLimit = 2
        let run = Task { [world, configuration] in try await world.run(configuration) }
        try await world.server.waitUntilHeld("all")
        #expect(world.server.maximumOpenConnections <= 2)
        world.server.release("all")
        #expect(try await run.value.isFinished)
        #expect(world.server.maximumOpenConnections <= 2 && world.server.requestCount == 10)
    }

    @Test("A host that does not respond leaves rows in all shards, and delays no other host")
    func slowHost() async throws {
        let image = BatchWorld.image(width: 16, seed: 1)
        world.server.serveOthers { request in
            let response = LoopbackServer.Response.ok(image, type: "image/png")
            return request.path.hasPrefix("/slow") ? response.held("slow", after: 0) : response
        }
        let lines = (0..<280).map { row in
            row % 2 == 0 ? world.server.url("/slow/\(row)", host: "localhost") : url("/\(row)")
        }
        var configuration = try world.configuration(lines)
        configuration.rows.schedule.queue.capacity = 40
        configuration.rows.schedule.queue.hostShare = 10
        let othersEnded = ValueBridge<Void>()
        let ended = Guarded(0)
        let run = Task { [world, configuration] in
            try await world.run(configuration) { event in
                guard case .rowEnded = event else { return false }
                let count = ended.withLock { number in
                    number += 1
                    return number
                }
                if count == 140 { othersEnded.open(with: ()) }
                return false
            }
        }
        await othersEnded.value()
        #expect(world.output(configuration.folder).isEmpty)
        #expect(world.events.withLock(\.self).allSatisfy { if case .shardFinished = $0 { false } else { true } })
        world.server.release("slow")
        #expect(try await run.value.isFinished)
        #expect(world.ends == ["success": 280] && world.server.requestCount == 280)
        for shard in [0, 35, 69] {
            let rows = try world.rows(of: shard, configuration)
            #expect(rows.count == 4 && rows.allSatisfy { $0.hasSuffix(" success 16") })
        }
        let report = try ShardVerifier.verify(folder: configuration.folder, codecs: BatchWorld.codecs) { false }
        #expect(report.problemCount == 0)
    }

    @Test("A full staging folder delays rows of later shards, and the run ends")
    func staging() async throws {
        for index in 0..<24 { world.serveImage("/\(index)", width: 64, seed: index) }
        var configuration = try world.configuration((0..<24).map { url("/\($0)") })
        configuration.stagingLimit = 100
        #expect(try await world.run(configuration).isFinished)
        #expect(world.ends == ["success": 24])
        #expect(
            try (0..<6).flatMap { try world.rows(of: $0, configuration) }.allSatisfy { $0.hasSuffix(" success 64") })
    }

    @Test("Columns pass through, captions and ids name members, and rejected rows do not stop the run")
    func columns() async throws {
        world.serveImage("/a", width: 9)
        world.directory.write(
            "in.jsonl",
            """
            {"url":"\(url("/a"))","key":"k.1","text":"eins","score":1.5}
            not JSON
            {"url":"\(url("/a"))","key":"k.1","text":null,"score":null,"late":true}

            """)
        var configuration = try world.configuration(reading: "in.jsonl")
        configuration.columns.idColumn = "key"
        configuration.columns.captionColumn = "text"
        configuration.keys = .id
        #expect(try await world.run(configuration).isFinished)
        var rows: [SidecarRow] = []
        let reader = try ShardReader(0, world.writer(configuration))
        try reader.rows { _, row in rows.append(row) }
        #expect(rows.count == 2 && rows[0].key.hasPrefix("k_1--") && rows[1].key == rows[0].key + "--1")
        #expect(reader.schema?.ownColumns == ["input_key", "text", "score", "late"])
        #expect(
            rows.map { $0.ownValues.map { $0.map { String(decoding: $0, as: UTF8.self) } } } == [
                ["\"k.1\"", "\"eins\"", "1.5", nil], ["\"k.1\"", nil, nil, "true"],
            ])
        #expect(try rows.map { try reader.caption($0) } == ["eins", ""])
        let rejects = String(
            decoding: try #require(TemporaryDirectory.read(world.folder + "/rejects.jsonl")), as: UTF8.self)
        #expect(rejects.contains("\"line\":2,"))
    }

    @Test("Parts are disjoint, and have all rows together")
    func parts() async throws {
        for index in 0..<20 { world.serveImage("/\(index)") }
        let lines = (0..<20).map { $0 % 2 == 0 ? url("/\($0)") : world.server.url("/\($0)", host: "localhost") }
        for division in BatchConfiguration.Division.allCases {
            world.server.forgetRecords()
            for number in 0..<3 {
                var configuration = try world.configuration(lines)
                configuration.part = ShardLayout.Part(number: number, of: 3)
                configuration.division = division
                configuration.folder = world.directory.appending("\(division)-\(number)")
                #expect(try await world.run(configuration).isFinished)
            }
            #expect(world.server.requests.count == 20 && Set(world.server.requests.map(\.path)).count == 20)
        }
    }
}
