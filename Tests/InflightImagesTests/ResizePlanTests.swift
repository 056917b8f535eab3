import InflightImages
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ResizePlanTests {
    private typealias Plan = Resize.Plan

    @Test("A 400 × 300 image gets the expected plan for contain, fill and cover")
    func table() {
        func plan(_ width: Int?, _ height: Int?, _ fit: Resize.Fit, enlarges: Bool = false) -> Resize.Plan {
            Resize(width: width, height: height, fit: fit, enlarges: enlarges).plan(sourceWidth: 400, sourceHeight: 300)
        }
        func whole(_ width: Int, _ height: Int) -> Resize.Plan {
            Plan(scaledWidth: width, scaledHeight: height, width: width, height: height)
        }
        #expect(plan(200, 200, .contain) == whole(200, 150))
        #expect(plan(200, nil, .contain) == whole(200, 150))
        #expect(plan(nil, 100, .contain) == whole(133, 100))
        #expect(plan(800, 800, .contain) == whole(400, 300))
        #expect(plan(800, 800, .contain, enlarges: true) == whole(800, 600))
        #expect(plan(nil, nil, .contain) == whole(400, 300))
        #expect(plan(1, 1, .contain) == whole(1, 1))
        #expect(plan(100, 100, .fill) == whole(100, 100))
        #expect(plan(800, 100, .fill) == whole(400, 100))
        #expect(plan(800, 100, .fill, enlarges: true) == whole(800, 100))
        #expect(
            plan(100, 100, .cover)
                == Plan(scaledWidth: 133, scaledHeight: 100, cropX: 16, width: 100, height: 100))
        #expect(
            plan(200, 50, .cover)
                == Plan(scaledWidth: 200, scaledHeight: 150, cropY: 50, width: 200, height: 50))
        #expect(
            plan(800, 800, .cover) == Plan(scaledWidth: 400, scaledHeight: 300, cropX: 50, width: 300, height: 300))
        #expect(plan(200, nil, .cover) == whole(200, 150))
        #expect(plan(100, 100, .outside) == whole(133, 100))
        #expect(plan(100, 100, .outside, enlarges: true) == whole(133, 100))
        #expect(plan(350, 350, .outside) == whole(400, 300))
        #expect(plan(350, 350, .outside, enlarges: true) == whole(467, 350))
        #expect(plan(200, nil, .outside) == whole(200, 150))
        #expect(plan(nil, nil, .outside) == whole(400, 300))
        #expect(plan(200, 200, .pad) == whole(200, 150))
        #expect(plan(800, 800, .pad, enlarges: true) == whole(800, 600))
    }

    @Test(
        "The sizes are those of img2dataset 1.47 for its modes, also of images that are not larger than the size",
        arguments: [
            // The source, then keep_ratio, center_crop and border for 256 pixels; then each with resize_only_if_bigger.
            (1000, 512, [500, 256, 256, 256, 256, 256], [500, 256, 256, 256, 256, 256]),
            (1001, 512, [500, 256, 256, 256, 256, 256], [500, 256, 256, 256, 256, 256]),
            (1003, 512, [502, 256, 256, 256, 256, 256], [502, 256, 256, 256, 256, 256]),
            (300, 256, [300, 256, 256, 256, 256, 256], [300, 256, 300, 256, 256, 256]),
            (300, 100, [768, 256, 256, 256, 256, 256], [300, 100, 300, 100, 256, 256]),
            (100, 37, [692, 256, 256, 256, 256, 256], [100, 37, 100, 37, 100, 37]),
            (256, 256, [256, 256, 256, 256, 256, 256], [256, 256, 256, 256, 256, 256]),
            (257, 3000, [256, 2988, 256, 256, 256, 256], [256, 2988, 256, 256, 256, 256]),
            (9000, 1, [2_304_000, 256, 256, 256, 256, 256], [9000, 1, 9000, 1, 256, 256]),
        ] as [(Int, Int, [Int], [Int])])
    func img2dataset(width: Int, height: Int, enlarged: [Int], onlyIfBigger: [Int]) {
        func sizes(enlarges: Bool) -> [Int] {
            [Resize.Fit.outside, .cover, .pad].flatMap { fit in
                let resize = Resize(
                    width: 256, height: 256, fit: fit, enlarges: enlarges, keepsSmaller: !enlarges)
                let size = resize.resultSize(sourceWidth: width, sourceHeight: height)
                return [size.width, size.height]
            }
        }
        #expect(sizes(enlarges: true) == enlarged)
        #expect(sizes(enlarges: false) == onlyIfBigger)
    }

    @Test("Identities of sizes without the newer settings are those of version 0.1.0, and each setting is part of one")
    func identity() {
        let plain = Resize(width: 4, height: 5)
        #expect(plain.identity == "4x5 contain false")
        var black = Resize(width: 4, height: 5, fit: .pad)
        black.background = .black
        let others = [Resize(width: 4, height: 5, keepsSmaller: true), Resize(width: 4, height: 5, fit: .pad), black]
        #expect(Set((others + [plain]).map(\.identity)).count == 4)
    }
}
