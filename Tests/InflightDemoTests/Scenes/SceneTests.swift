import Inflight
import Testing

@testable import InflightDemo

@Suite("Painted scenes", .timeLimit(.minutes(10)))
struct SceneTests {
    @Test("Equal seeds paint equal images, and different seeds paint different ones", arguments: Scene.allCases)
    func seeds(scene: Scene) {
        let first = scene.picture(width: 80, height: 60, seed: 7)
        #expect(first.bytes == scene.picture(width: 80, height: 60, seed: 7).bytes)
        #expect(first.bytes != scene.picture(width: 80, height: 60, seed: 8).bytes)
        #expect(first.format == .rgbx)
    }

    @Test("A scene can be painted at extreme sizes and aspect ratios", arguments: Scene.allCases)
    func shapes(scene: Scene) {
        for (width, height) in [(1, 1), (3, 200), (200, 3)] {
            #expect(scene.picture(width: width, height: height, seed: 1).width == width)
        }
    }
}
