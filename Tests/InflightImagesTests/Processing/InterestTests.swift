import InflightImages
import InflightTestSupport
import Testing

@Suite("Region of interest", .timeLimit(.minutes(10)))
struct InterestTests {
    /// Uniform grey with a patch at `place`.
    private func scene(
        _ width: Int, _ height: Int, at place: (Int, Int), _ color: @escaping @Sendable (Int, Int) -> (Int, Int, Int)
    )
        -> PixelBuffer
    {
        Painted(width, height) { x, y in
            let isPatch = (place.0..<place.0 + 40).contains(x) && (place.1..<place.1 + 40).contains(y)
            let (red, green, blue) = isPatch ? color(x, y) : (128, 128, 128)
            return (red, green, blue, 255)
        }.pixels()
    }

    private static let patches: [(String, @Sendable (Int, Int) -> (Int, Int, Int))] = [
        ("lines", { x, y in (x / 4 + y / 4) % 2 == 0 ? (230, 230, 230) : (30, 30, 30) }),
        ("colour", { _, _ in (200, 40, 160) }), ("skin", { _, _ in (200, 146, 113) }),
        ("dark skin", { _, _ in (98, 70, 53) }),
    ]

    @Test("The region of interest covers lines, colours and skin tones", arguments: 0..<4)
    func found(patch: Int) {
        let (name, color) = Self.patches[patch]
        for place in [0, 90, 250, 360] {
            let wide = scene(400, 100, at: (place, 30), color).interestingPart(width: 100, height: 100)
            #expect(wide.y == 0 && wide.x <= place + 4 && wide.x + 100 >= place + 36, "\(name) at \(place): \(wide)")
            let high = scene(100, 400, at: (30, place), color).interestingPart(width: 100, height: 100)
            #expect(high.x == 0 && high.y <= place + 4 && high.y + 100 >= place + 36, "\(name) at \(place): \(high)")
            let both = scene(400, 400, at: (place, 210), color).interestingPart(width: 100, height: 120)
            #expect(both.x <= place + 4 && both.x + 100 >= place + 36 && both.y <= 214 && both.y + 120 >= 246)
        }
    }

    @Test("A uniform image has its region of interest in the middle")
    func even() {
        let pixels = Painted(300, 80) { _, _ in (90, 90, 90, 255) }.pixels()
        #expect(pixels.interestingPart(width: 100, height: 80) == (100, 0))
        #expect(pixels.interestingPart(width: 300, height: 80) == (0, 0))
        let tiny = Painted(1, 1) { _, _ in (90, 90, 90, 255) }.pixels()
        #expect(tiny.interestingPart(width: 1, height: 1) == (0, 0))
    }

    @Test("A cover resize with interest gravity keeps the region of interest")
    func cover() {
        let pixels = scene(400, 100, at: (350, 30), Self.patches[1].1)
        let image = pixels.resized(by: Resize(width: 50, height: 50, fit: .cover, gravity: .interest))
        #expect(image.width == 50 && image.height == 50)
        #expect(image[40, 25][0] > 180, "the patch is at the right")
    }
}
