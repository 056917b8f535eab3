import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightImages
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Streams of rows and answers", .timeLimit(.minutes(5)))
struct StreamRunTests {
    private let world: BatchWorld

    init() throws { world = try BatchWorld() }

    /// Runs a stream over this input, which ends at once, and returns its lines and its ending.
    private func answers(
        _ input: [String], images: StreamRun.Images = .inLines, _ change: (inout RowConfiguration) -> Void = { _ in }
    ) async throws -> (lines: [String], StreamEnding) {
        world.directory.write("input", input.map { $0 + "\n" }.joined())
        return try await answersToFile(images: images, change)
    }

    private func answersToFile(
        images: StreamRun.Images = .inLines, _ change: (inout RowConfiguration) -> Void = { _ in }
    ) async throws -> (lines: [String], StreamEnding) {
        let source = unsafe open(world.directory.appending("input"), O_RDONLY)
        let target = unsafe open(world.directory.appending("output"), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer {
            close(source)
            close(target)
        }
        var configuration = RowConfiguration(treatment: ImageTreatment(encoding: EncodeOptions(format: .png)))
        change(&configuration)
        let ending = try await end(configuration, images: images, source, target)
        let text = String(decoding: world.directory.read("output") ?? [], as: UTF8.self)
        return (text.split(separator: "\n").map(String.init), ending)
    }

    private func end(
        _ configuration: RowConfiguration, images: StreamRun.Images = .inLines, _ source: Int32, _ target: Int32
    ) async throws -> StreamEnding {
        var engine = ImagePipeline.Configuration(decoding: .inProcess)
        engine.retry = nil
        let pipeline = try ImagePipeline(configuration: engine)
        let run = StreamRun(
            configuration, images: images, pipeline: pipeline, input: source, output: target, version: "9.9")
        let ending = await ValueBridge<StreamEnding>.value { bridge in run.start { bridge.open(with: $0) } }
        await pipeline.shutdown(.cancel)
        return ending
    }

    @Test("Each line is answered once, with the same members")
    func answers() async throws {
        world.serveImage("/a", width: 12)
        world.server.serve("/text", .ok(Bytes("no image")))
        let (lines, ending) = try await answers([
            "{\"id\":\"1\",\"url\":\"\(world.server.url("/a"))\",\"other\":1}", "nonsense",
            "{\"id\":\"2\",\"url\":\"\(world.server.url("/missing"))\"}", "{\"url\":\"http://h/\"}",
            "{\"id\":\"3\",\"url\":\"\(world.server.url("/text"))\"}", "{\"id\":\"4\",\"url\":\"file:///etc/passwd\"}",
            "{\"id\":\"5\",\"url\":\"\(world.server.url("/a"))\"}",
        ])
        #expect(lines.first == #"{"protocol":1,"version":"9.9"}"#)
        #expect("\(ending)" == "finished")
        let members = try lines.dropFirst().map { line in
            try #require(try JSONScanner.members(Array(line.utf8)[...])).map {
                ($0.name, String(decoding: $0.value, as: UTF8.self))
            }
        }
        #expect(members.count == 7)
        #expect(Set(members.map { $0.map(\.0) }).count == 1)
        let rows = members.map { Dictionary(uniqueKeysWithValues: $0) }.sorted {
            Int($0["line"] ?? "") ?? 0 < Int($1["line"] ?? "") ?? 0
        }
        #expect(
            rows.map { $0["status"] } == [
                "\"success\"", "\"rejected\"", "\"failed_to_download\"", "\"rejected\"", "\"failed_to_resize\"",
                "\"failed_to_download\"", "\"success\"",
            ])
        #expect(
            rows.map { $0["error_class"] } == [
                "null", "\"malformed\"", "\"http_404\"", "\"invalidRequest\"", "\"notAnImage\"",
                "\"unsupportedScheme\"", "null",
            ])
        let data = try #require(Base64.decoded(Array((rows[0]["data"] ?? "").utf8.dropFirst().dropLast())))
        #expect(try BatchWorld.codecs.info(of: Bytes(data)).width == 12)
        #expect(rows[0]["size"] == "\(data.count)" && rows[0]["data"] == rows[6]["data"] && rows[0]["id"] == "\"1\"")
    }

    @Test("Images are files if a folder is named")
    func files() async throws {
        world.serveImage("/a", width: 12)
        let row = "{\"id\":\"x\",\"url\":\"\(world.server.url("/a"))\"}"
        let (lines, _) = try await answers([row], images: .files(world.directory.path))
        #expect(lines[1].hasSuffix(#""data":null,"file":"0.png"}"#))
        #expect(try BatchWorld.codecs.info(of: Bytes(world.directory.read("0.png") ?? [])).width == 12)
    }

    @Test("Images of version 2 are bytes after the lines of their answers")
    func binary() async throws {
        world.serveImage("/a", width: 12)
        let rows = ["/a", "/missing", "/a"].enumerated().map { number, path in
            "{\"id\":\"\(number)\",\"url\":\"\(world.server.url(path))\"}"
        }
        _ = try await answers(rows, images: .afterLines)
        var output = (world.directory.read("output") ?? [])[...]
        var lines: [String] = []
        while let end = output.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(output[..<end])
            output = output[(end + 1)...]
            lines.append(String(decoding: line, as: UTF8.self))
            let size = try #require(try JSONScanner.members(line[...])).first { $0.name == "size" }?.value
            guard let size, let count = Int(String(decoding: size, as: UTF8.self)) else { continue }
            #expect(try BatchWorld.codecs.info(of: Bytes(Array(output.prefix(count)))).width == 12)
            output = output.dropFirst(count)
        }
        #expect(output.isEmpty && lines.first == #"{"protocol":2,"version":"9.9"}"#)
        #expect(lines.count == 4 && lines.dropFirst().allSatisfy { $0.hasSuffix(#""data":null,"file":null}"#) })
    }

    @Test("Rows beyond the window are answered, too, and no host has more requests at once than its limit")
    func window() async throws {
        world.server.serveOthers { _ in .status(404) }
        let lines = (0..<60).map { row in
            let url = world.server.url("/\(row)", host: row % 3 == 0 ? "localhost" : "127.0.0.1")
            return "{\"id\":\"\(row)\",\"url\":\"\(url)\"}"
        }
        let (answers, ending) = try await answers(lines) {
            $0.schedule.queue.capacity = 6
            $0.schedule.queue.hostShare = 2
            $0.schedule.queue.pacer.ceiling = 1
            $0.schedule.queue.pacer.initialLimit = 1
            $0.schedule.maximumRequests = 2
        }
        #expect("\(ending)" == "finished" && answers.count == 61)
        #expect(Set(answers.dropFirst().map { $0.prefix { $0 != "," } }).count == 60)
        #expect(world.server.maximumOpenConnections <= 2 && world.server.requestCount == 60)
    }

    @Test("An input that ends in the middle of a line has that line, and a line above the limit is rejected")
    func lines() async throws {
        let long = "{\"id\":\"1\",\"url\":\"http://h/" + String(repeating: "a", count: 1 << 20) + "\"}\n"
        world.directory.write("input", long + "{\"id\":\"2\",\"url\":\"file:///x\"}\n{\"id\":\"3\",\"ur")
        let (lines, ending) = try await answersToFile()
        #expect("\(ending)" == "finished" && lines.count == 4)
        #expect(lines[1].contains(#""line":1,"status":"rejected","error_class":"malformed""#))
        #expect(lines[1].contains("The row is longer than the limit of 1048576 bytes."))
        #expect(lines[2].contains(#""id":"2","line":2,"status":"failed_to_download""#))
        #expect(lines[3].contains(#""line":3,"status":"rejected","error_class":"malformed""#))
    }

    @Test("An empty input is answered by nothing")
    func empty() async throws {
        let (lines, ending) = try await answers([])
        #expect("\(ending)" == "finished" && lines.count == 1)
    }

    /// Rows of an image whose answer takes more than half a megabyte.
    private func serveLargeImage(rows: Int, onRequest: @escaping @Sendable () -> Void = {}) throws -> Int {
        var random = SeededGenerator(seed: 1)
        let pixels = unsafe PixelBuffer(width: 400, height: 400, format: .rgbx) { memory in
            for index in 0..<(400 * 400 * 4) { unsafe memory[index] = UInt8.random(in: 0...255, using: &random) }
        }
        let image = try BatchWorld.codecs.encode(pixels, options: EncodeOptions(format: .png))
        world.server.serveOthers { _ in
            onRequest()
            return .ok(image, type: "image/png")
        }
        let lines = (0..<rows).map { "{\"id\":\"\($0)\",\"url\":\"\(world.server.url("/\($0)"))\"}\n" }
        world.directory.write("input", lines.joined())
        return image.count / 3 * 4
    }

    @Test("A stream whose reader is slow stops requesting, and continues when answers are read")
    func slowReader() async throws {
        // What is requested and not read: 16 MB, a request in flight, and an image in each thread.
        let (requested, read) = (Guarded(0), Guarded(0))
        let unread = Guarded(0)
        let size = Guarded(0)
        let isFull = ValueBridge<Void>()
        let answerSize = try serveLargeImage(rows: 60) {
            let count = requested.withLock { number in
                number += 1
                return number
            }
            let waiting = count * size.withLock(\.self) - read.withLock(\.self)
            unread.withLock { $0 = max($0, waiting) }
            if waiting >= 14 << 20 { isFull.open(with: ()) }
        }
        size.withLock { $0 = answerSize }
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        let (reading, writing) = (ends[0], ends[1])
        let source = unsafe open(world.directory.appending("input"), O_RDONLY)
        var configuration = RowConfiguration(treatment: ImageTreatment(encoding: EncodeOptions(format: .png)))
        configuration.schedule.maximumRequests = 1
        async let ending = end(configuration, source, writing)
        await isFull.value()
        let lines = Task.detached {
            var (lines, buffer) = (0, [UInt8](repeating: 0, count: 1 << 16))
            while true {
                let count = unsafe Glibc.read(reading, &buffer, buffer.count)
                guard count > 0 else { return lines }
                read.withLock { $0 += count }
                lines += buffer[..<count].count { $0 == UInt8(ascii: "\n") }
            }
        }
        #expect(try await "\(ending)" == "finished")
        close(writing)
        #expect(await lines.value == 61)
        #expect(unread.withLock(\.self) <= 16 << 20 + 5 * answerSize)
        close(reading)
        close(source)
    }

    @Test(
        "A stream whose reader takes nothing ends when it is stopped, and when the reader goes away",
        arguments: [false, true])
    func stuckReader(isStopped: Bool) async throws {
        signal(SIGPIPE, SIG_IGN)
        _ = try serveLargeImage(rows: 4)
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        let source = unsafe open(world.directory.appending("input"), O_RDONLY)
        let configuration = RowConfiguration(treatment: ImageTreatment(encoding: EncodeOptions(format: .png)))
        let pipeline = try ImagePipeline(configuration: ImagePipeline.Configuration(decoding: .inProcess))
        let run = StreamRun(
            configuration, pipeline: pipeline, input: source, output: ends[1], version: "9.9")
        let ending = ValueBridge<StreamEnding>()
        run.start { ending.open(with: $0) }
        // An answer does not fit into the pipe.
        var first: [UInt8] = [0]
        #expect(unsafe Glibc.read(ends[0], &first, 1) == 1)
        try await world.server.waitForRequest("/3")
        if isStopped { run.stop() } else { close(ends[0]) }
        #expect(await "\(ending.value())" == (isStopped ? "stopped" : "outputClosed"))
        if isStopped { close(ends[0]) }
        await pipeline.shutdown(.cancel)
        close(source)
    }

    @Test("A closed output ends the stream")
    func closed() async throws {
        signal(SIGPIPE, SIG_IGN)
        world.directory.write("input", "{\"id\":\"x\",\"url\":\"\(world.server.url("/a"))\"}\n")
        let source = unsafe open(world.directory.appending("input"), O_RDONLY)
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        close(ends[0])
        defer {
            close(source)
            close(ends[1])
        }
        let configuration = RowConfiguration(treatment: ImageTreatment(encoding: EncodeOptions(format: .png)))
        #expect(try await "\(end(configuration, source, ends[1]))" == "outputClosed")
    }
}
