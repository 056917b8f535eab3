import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Animations through the pipeline", .timeLimit(.minutes(10)))
struct AnimationTests {
    /// Two frames of 2 × 2 pixels, red and blue, 50 ms each (GIF89a).
    private static let gif: [UInt8] = {
        let control: [UInt8] = [0x21, 0xF9, 4, 0, 5, 0, 0, 0]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 2, 0, 2, 0, 0, 2]
        // All pixels have one colour; the decoder's table is cleared before each.
        let red: [UInt8] = [0x04, 0x04, 0x41, 0x10, 0x05, 0x00]
        let blue: [UInt8] = [0x04, 0x0C, 0xC3, 0x30, 0x05, 0x00]
        return Array("GIF89a".utf8) + [2, 0, 2, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
            + control + frame + red + control + frame + blue + [0x3B]
    }()

    private func stage() throws -> (LoopbackServer, ImagePipeline, VirtualClock) {
        let clock = VirtualClock()
        var configuration = ImagePipeline.Configuration()
        configuration.retry = nil
        configuration.clock = clock
        return (try LoopbackServer(), try ImagePipeline(configuration: configuration), clock)
    }

    @Test("An animation is fetched, resized, processed and played on the pipeline clock")
    func played() async throws {
        let (server, pipeline, clock) = try stage()
        defer { server.stop() }
        server.serve("/a.gif", .ok(Bytes(Self.gif), type: "image/gif"))
        var request = ImageRequest.patient(server.url("/a.gif"))
        request.resize = Resize(width: 8, enlarges: true)
        request.processors = [.crop(width: 4, height: 2)]
        let image = try await pipeline.animation(for: request)
        #expect(image.frameCount == 2 && image.info.width == 2)
        let player = Task {
            var shown: [[Int64]] = []
            for try await frame in image.frames(loops: .times(2)) {
                #expect(frame.pixels.width == 4 && frame.pixels.height == 2)
                shown.append([Int64(frame.index), clock.now().nanoseconds / 1_000_000])
            }
            return shown
        }
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
        }
        #expect(try await player.value == [[0, 0], [1, 50], [0, 100], [1, 150]])
        await pipeline.shutdown(.finish)
    }

    @Test("An animation error has the URL and a code: bad status, no image, damage, too many frames")
    func failures() async throws {
        let (server, pipeline, _) = try stage()
        defer { server.stop() }
        server.serve("/a.gif", .ok(Bytes(Self.gif), type: "image/gif"))
        server.serve("/page", .ok(Bytes("<!doctype html>"), type: "text/html"))
        server.serve("/half.gif", .ok(Bytes(Array(Self.gif.prefix(30))), type: "image/gif"))
        for (path, code) in [
            ("/none", LoadError.Code.badStatus), ("/page", .notAnImage), ("/half.gif", .damaged),
            ("/a.gif", .tooManyFrames),
        ] {
            let error = await #expect(throws: LoadError.self) {
                try await pipeline.animation(for: .patient(server.url(path))) { $0.maximumFrames = 1 }
            }
            #expect(error?.code == code && error?.url?.hasSuffix(path) == true, "\(path): \(String(describing: error))")
        }
        await pipeline.shutdown(.finish)
    }

    @Test("Cancelling the task of an animation throws a cancelled error")
    func cancelled() async throws {
        let (server, pipeline, _) = try stage()
        defer { server.stop() }
        server.serve("/a.gif", .ok(Bytes(Self.gif), type: "image/gif").held("never", after: 10))
        let request = ImageRequest.patient(server.url("/a.gif"))
        let task = Task { try await pipeline.animation(for: request) }
        try await server.waitForRequest("/a.gif")
        task.cancel()
        let error = await #expect(throws: LoadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        await pipeline.shutdown(.finish)
    }
}
