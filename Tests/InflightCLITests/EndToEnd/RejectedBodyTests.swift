import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Bodies of the right length that do not decode, and the cache.
@Suite("Damaged bodies and the cache, over real sockets", .timeLimit(.minutes(10)))
struct RejectedBodyTests {
    private static let cases: [(String, Bytes)] = [
        ("png", Bytes(GoldenFixtures.png)), ("jpg", Bytes(GoldenFixtures.jpeg)),
        ("webp", Bytes(GoldenFixtures.losslessWebP)),
        ("gif", TestImages.animation(9, 9, colors: [1], hundredths: 1, loops: 1)),
        ("avif", Bytes(AVIFFixtures.plain)), ("bmp", bitmap),
    ]

    /// 24 bits per pixel, 8 × 8, all of them 0.
    private static let bitmap = Bytes(
        Array("BM".utf8) + Pieces.little32(246) + Pieces.little32(0) + Pieces.little32(54) + Pieces.little32(40)
            + Pieces.little32(8) + Pieces.little32(8) + [1, 0, 24, 0] + [UInt8](repeating: 0, count: 24 + 192))

    /// The body and options of a run, its expected source, and the number of requests after it.
    private struct Step {
        let body: Bytes
        var options: [String] = []
        let from: String?
        let requests: Int
    }

    private func run(_ name: String, _ steps: [Step]) async throws {
        let place = TemporaryDirectory()
        let server = try LoopbackServer()
        defer { server.stop() }
        for (number, step) in steps.enumerated() {
            server.serve("/\(name)", .ok(step.body).field("Cache-Control", "max-age=600"))
            let result = place.run(
                ["get", server.url("/\(name)"), "-o", "out", "--cache", "cache", "--json"] + step.options)
            let line = try result.lines.first
            #expect(line?.from == step.from, "\(name), run \(number): \(line?.error?.message ?? "")")
            #expect(result.status == (step.from == nil ? 1 : 0))
            #expect(server.requestCount == step.requests, "\(name), run \(number)")
        }
    }

    @Test("A truncated body is fetched once per run until the server has recovered", arguments: cases)
    func truncated(name: String, whole: Bytes) async throws {
        let half = whole.part(0..<whole.count / 2)
        for options in [[], ["--verify"], ["--size", "4x4"]] {
            try await run(
                name,
                [
                    Step(body: half, options: options, from: nil, requests: 1),
                    Step(body: half, options: options, from: nil, requests: 2),
                    Step(body: whole, options: options, from: "network", requests: 3),
                    Step(body: half, options: options, from: "disk", requests: 3),
                ])
        }
    }

    @Test("A truncated body that --any has stored is fetched once more for an image", arguments: cases)
    func fetchedAsAnything(name: String, whole: Bytes) async throws {
        let half = whole.part(0..<whole.count / 2)
        for options in [[], ["--size", "4x4"]] {
            try await run(
                name,
                [
                    Step(body: half, options: ["--any"], from: "network", requests: 1),
                    Step(body: half, options: ["--any"], from: "disk", requests: 1),
                    Step(body: half, options: options, from: nil, requests: 2),
                    Step(body: whole, options: options, from: "network", requests: 3),
                    Step(body: half, options: options, from: "disk", requests: 3),
                ])
        }
    }

    @Test(
        "--verify fetches an image with a flipped bit once per run until the server has recovered",
        // In a BMP file every sample value is valid.
        arguments: cases.dropLast())
    func flipped(name: String, whole: Bytes) async throws {
        let flipped = Self.flipped(whole)
        try await run(
            name,
            [
                Step(body: flipped, options: ["--any"], from: "network", requests: 1),
                Step(body: flipped, options: ["--verify"], from: nil, requests: 2),
                Step(body: flipped, options: ["--verify"], from: nil, requests: 3),
                Step(body: whole, options: ["--verify"], from: "network", requests: 4),
                Step(body: flipped, options: ["--verify"], from: "disk", requests: 4),
            ])
    }

    /// The image with one flipped bit: the last one that its decoder detects, but the check of its structure does not.
    /// If there is none, as in PNG with its checksums, a bit in the middle.
    private static func flipped(_ whole: Bytes) -> Bytes {
        func flipped(_ position: Int) -> Bytes {
            var bytes = whole.array
            bytes[position] ^= 0x10
            return Bytes(bytes)
        }
        let position = (whole.count / 4..<whole.count).last { position in
            guard (try? TestImages.codecs.validate(flipped(position))) != nil else { return false }
            return (try? TestImages.decode(flipped(position).array)) == nil
        }
        return flipped(position ?? whole.count / 2)
    }
}
