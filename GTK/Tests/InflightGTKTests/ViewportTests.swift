import InflightGTK
import Testing

@Suite("Viewport", .timeLimit(.minutes(10)))
struct ViewportTests {
    private func nearness(_ y: Double, towards direction: Double) -> Nearness {
        Viewport(width: 400, height: 600, direction: (0, direction)).nearness(x: 10, y: y, width: 100, height: 100)
    }

    @Test("A cell is visible while any part of it is inside the viewport", arguments: [-99.0, 0, 300, 599])
    func visible(y: Double) {
        #expect(nearness(y, towards: 1) == .visible)
    }

    @Test("A cell is near within a page ahead or a quarter of a page behind")
    func near() {
        #expect(nearness(600, towards: 1) == .near)
        #expect(nearness(1199, towards: 1) == .near)
        #expect(nearness(1200, towards: 1) == .away)
        #expect(nearness(-100, towards: 1) == .near)
        #expect(nearness(-249, towards: 1) == .near)
        #expect(nearness(-250, towards: 1) == .away)
        #expect(nearness(-699, towards: -1) == .near)
        #expect(nearness(749, towards: -1) == .near)
        #expect(nearness(750, towards: -1) == .away)
    }
}
