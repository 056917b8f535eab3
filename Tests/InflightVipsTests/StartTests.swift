import CInflightVips
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("libvips startup", .timeLimit(.minutes(10)))
struct StartTests {
    /// Returns whether libvips selects a loader for the bytes by sniffing.
    private func isLoaded(_ bytes: [UInt8]) throws -> Bool {
        try VipsDecoder.start()
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe inflight_vips_sniffs($0.baseAddress!, $0.count) != 0
        }
    }

    @Test("Starting twice succeeds")
    func again() throws {
        try VipsDecoder.start()
        try VipsDecoder.start()
    }

    @Test("All loaders except those in use are blocked")
    func blocked() throws {
        let png: [UInt8] = [
            0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0,
            1,
            8, 0, 0, 0, 0, 0x3A, 0x7E, 0x9B, 0x55,
        ]
        #expect(try !isLoaded(png))
        #expect(try !isLoaded(Array("P6 1 1 255\nabc".utf8)))
        #expect(try !isLoaded(Array("P1 1 1\n1".utf8)))
        #expect(try !isLoaded(Array("%PDF-1.4\n%%EOF\n".utf8)))
        #expect(try !isLoaded(Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0, 0x3B]))
        #expect(try !isLoaded(Array("#?RADIANCE\n\n-Y 1 +X 1\n".utf8) + [1, 2, 3, 4]))
        // ImageMagick would load this.
        #expect(try !isLoaded(Array("/* XPM */ static char *a[] = {\"1 1 1 1\",\"a c #fff\",\"a\"};".utf8)))
        // libjxl and libtiff decode these without libvips.
        #expect(try !isLoaded(JPEGXLFixtures.alpha))
        #expect(try !isLoaded(TIFFFixtures.lzw))
        for bytes in [AVIFFixtures.plain, Pictures.drawing] {
            #expect(try isLoaded(bytes))
        }
    }
}
