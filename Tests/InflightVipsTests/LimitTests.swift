import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

@testable import InflightVips

@Suite("libvips decoder: sizes, limits and cancellation", .timeLimit(.minutes(10)))
struct LimitTests {
    private static let samples = [
        AVIFFixtures.alpha, HEICFixtures.plain, JPEGXLFixtures.alpha, TIFFFixtures.lzw, Pictures.drawing,
    ]

    @Test("Decoding returns the requested size and pixel format", arguments: samples.indices)
    func sizes(_ index: Int) throws {
        let bytes = Self.samples[index]
        let whole = try decode(bytes)
        for (width, height, fit) in [(1, 1, Resize.Fit.fill), (7, 5, .cover), (5, 11, .fill), (9, 9, .contain)] {
            var options = DecodeOptions(resize: Resize(width: width, height: height, fit: fit))
            options.order = .bgra
            options.premultiplied = true
            let pixels = try decode(bytes, options)
            let plan = try #require(options.resize).plan(sourceWidth: 16, sourceHeight: 12)
            #expect(pixels.width == plan.width && pixels.height == plan.height)
            #expect(pixels.format.order == .bgra && pixels.format.alpha != .straight)
            // SVG is rendered anew for each size.
            if try info(bytes).format == .svg { continue }
            let expected = whole.resized(to: plan).converted(to: pixels.format)
            #expect(pixels.psnr { expected[$0, $1] } > 45)
        }
    }

    @Test("Decoding rejects an image above the pixel limit", arguments: samples.indices)
    func maximum(_ index: Int) throws {
        var options = DecodeOptions()
        options.maximumPixels = 16 * 12
        _ = try decode(Self.samples[index], options)
        options.maximumPixels -= 1
        #expect(code { _ = try decode(Self.samples[index], options) } == .tooManyPixels)
    }

    @Test("A profile of up to 4 MiB is applied; a larger one is ignored")
    func profileSize() throws {
        let swapped = Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "swapped")
        for (count, isApplied) in [(4 << 20, true), ((4 << 20) + 1, false)] {
            var pieces = TIFFPieces()
            pieces.profile = swapped + [UInt8](repeating: 0, count: count - swapped.count)
            let psnr = try decode(pieces.file).psnr {
                let color = Scene.color($0, $1)
                return isApplied ? SIMD4(color[2], color[1], color[0], 255) : color
            }
            #expect(psnr > (isApplied ? 36 : 99), "\(count) bytes: \(psnr) dB")
        }
    }

    @Test("Decoding throws cancelled if cancelled before it starts", arguments: samples.indices)
    func cancelled(_ index: Int) throws {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(code { _ = try decode(Self.samples[index], cancellation: flag) } == .cancelled)
    }

    @Test("Decoding throws cancelled if cancelled after the file is opened")
    func cancelledInside() throws {
        let info = try info(TIFFFixtures.lzw)
        let flag = CancellationFlag()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 12 * 4, alignment: 16)
        defer { unsafe memory.deallocate() }
        let plan = Resize.Plan(scaledWidth: 16, scaledHeight: 12, width: 16, height: 12)
        let found = code {
            try VipsReader.with(Bytes(TIFFFixtures.lzw), format: .tiff) { (picture) throws(LoadError) in
                flag.cancel()
                try unsafe VipsDecoding(
                    reader: picture, info: info, plan: plan, target: memory, cancellation: flag
                ).run()
            }
        }
        #expect(found == .cancelled)
    }

    @Test("Concurrent decodes return the same pixels as a single decode")
    func parallel() async throws {
        let alone = try Self.samples.map { try decode($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for (index, bytes) in Self.samples.enumerated() {
                        let pixels = try decode(bytes)
                        #expect(pixels.psnr { alone[index][$0, $1] } == 100)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
