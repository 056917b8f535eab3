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
    }
}
