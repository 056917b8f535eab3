import InflightConcurrency
import Testing

@testable import InflightImages

@Suite("Frame scheduling", .timeLimit(.minutes(10)))
struct FrameMachineTests {
    private typealias Caller = FrameScheduler.Waiter

    /// A reference to a machine, so that expectations can call its mutating methods. Costs are in units of a pixel.
    private final class Machine {
        private var state: FrameMachine

        init(maximumFrames: Int, maximumCost: Int) {
            state = FrameMachine(maximumFrames: maximumFrames, maximumCost: maximumCost * 4)
        }

        var heldIndices: [Int] { state.heldIndices }
        var heldCost: Int { state.heldCost / 4 }

        func requested(_ index: Int, by caller: Caller) -> FrameMachine.Reply { state.requested(index, by: caller) }
        func left(_ index: Int, _ caller: Caller) -> Bool { state.left(index, caller) }
        func predicted(_ indices: [Int]) { state.predicted(indices) }
        func closed() -> Bool { state.closed() }
        func next() -> Int? { state.next() }
        func failed() -> [Caller] { state.failed() }

        /// A frame was made. Returns its waiters and the indices of the evicted frames.
        func made(_ index: Int, cost: Int) -> (waiters: [Caller], released: [Int]) {
            let bytes = Bytes([UInt8](repeating: 0, count: cost * 4))
            let pixels = PixelBuffer(width: cost, height: 1, format: .rgbx, bytes: bytes)
            let (waiters, released) = state.made(.init(index: index, pixels: pixels, duration: .zero))
            return (waiters, released.map(\.index))
        }
    }

    private func waits(_ reply: FrameMachine.Reply) -> Bool {
        if case .waits = reply { true } else { false }
    }

    @Test("Requested frames are made one at a time in order, before prefetched ones")
    func order() {
        let machine = Machine(maximumFrames: 4, maximumCost: 100)
        let callers = (0..<3).map { _ in Caller() }
        machine.predicted([1, 2])
        #expect(machine.next() == 1)
        #expect(waits(machine.requested(7, by: callers[0])))
        #expect(waits(machine.requested(5, by: callers[1])))
        #expect(waits(machine.requested(7, by: callers[2])))
        #expect(machine.next() == nil)
        #expect(machine.made(1, cost: 1).waiters.isEmpty)
        #expect(machine.next() == 7)
        let waiters = machine.made(7, cost: 1).waiters
        #expect(waiters.map(ObjectIdentifier.init) == [callers[0], callers[2]].map(ObjectIdentifier.init))
        #expect(machine.next() == 5)
        #expect(machine.made(5, cost: 1).waiters.count == 1)
        #expect(machine.next() == 2)
    }

    @Test("A held frame is delivered at once, and the least recently used one is evicted first")
    func held() {
        let machine = Machine(maximumFrames: 2, maximumCost: 100)
        let caller = Caller()
        for index in [0, 1] {
            _ = machine.requested(index, by: caller)
            _ = machine.next()
            _ = machine.made(index, cost: 1)
        }
        #expect(!waits(machine.requested(0, by: caller)))
        _ = machine.requested(2, by: caller)
        _ = machine.next()
        #expect(machine.made(2, cost: 1).released == [1])
        #expect(machine.heldIndices == [0, 2])
    }

    @Test("Held frames stay within the cost limit, and frames are prefetched only if they fit")
    func cost() {
        let machine = Machine(maximumFrames: 4, maximumCost: 25)
        let caller = Caller()
        _ = machine.requested(0, by: caller)
        machine.predicted([1, 2, 3])
        #expect(machine.next() == 0)
        _ = machine.made(0, cost: 10)
        // Two frames fit: the current one and one more.
        #expect(machine.next() == 1)
        _ = machine.made(1, cost: 10)
        #expect(machine.next() == nil)
        _ = machine.requested(4, by: caller)
        #expect(machine.next() == 4)
        let (waiters, released) = machine.made(4, cost: 30)
        #expect(waiters.count == 1 && Set(released) == [0, 1, 4])
        #expect(machine.heldCost == 0)
        machine.predicted([5])
        #expect(machine.next() == nil)
    }

    @Test("The last caller to leave stops a frame, and a new caller has it made again")
    func leaving() {
        let machine = Machine(maximumFrames: 2, maximumCost: 100)
        let (first, second, third) = (Caller(), Caller(), Caller())
        _ = machine.requested(0, by: first)
        _ = machine.requested(0, by: second)
        #expect(machine.next() == 0)
        #expect(!machine.left(0, first))
        #expect(!machine.left(0, first))
        #expect(machine.left(0, second))
        #expect(waits(machine.requested(0, by: third)))
        // The stopped frame does not fail the new caller.
        #expect(machine.failed().isEmpty)
        #expect(machine.next() == 0)
        #expect(machine.failed().map(ObjectIdentifier.init) == [ObjectIdentifier(third)])
        #expect(machine.next() == nil)
    }

    @Test("A frame finished despite being stopped is delivered to a new caller once")
    func madeAnyway() {
        let machine = Machine(maximumFrames: 2, maximumCost: 100)
        let (first, second) = (Caller(), Caller())
        _ = machine.requested(0, by: first)
        _ = machine.next()
        _ = machine.left(0, first)
        _ = machine.requested(0, by: second)
        #expect(machine.made(0, cost: 1).waiters.count == 1)
        #expect(machine.next() == nil)
    }

    @Test("A queued frame without callers is dropped, and closing drops the prefetch")
    func nothingLeft() {
        let machine = Machine(maximumFrames: 2, maximumCost: 100)
        let caller = Caller()
        _ = machine.requested(3, by: caller)
        #expect(!machine.left(3, caller))
        machine.predicted([1])
        #expect(!machine.closed())
        #expect(machine.next() == nil)
        machine.predicted([1])
        #expect(machine.next() == 1)
        #expect(machine.closed())
        #expect(!machine.closed())
    }
}
