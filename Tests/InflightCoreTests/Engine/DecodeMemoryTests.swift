import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("The memory that decodes share", .timeLimit(.minutes(10)))
struct DecodeMemoryTests {
    private let limits = DecodeLimits(memory: 100, time: nil, clock: VirtualClock())
    private let granted = Guarded<[String]>([])

    private final class Waiter: MemoryWaiter {
        let name: String
        let granted: Guarded<[String]>

        init(_ name: String, _ granted: Guarded<[String]>) {
            self.name = name
            self.granted = granted
        }

        func memoryWasGranted() { granted.withLock { $0.append(name) } }
    }

    private func waiter(_ name: String) -> Waiter { Waiter(name, granted) }

    /// Returns the waiters that were granted memory since the last call, in order.
    private func grants() -> [String] {
        granted.withLock { names in
            defer { names = [] }
            return names
        }
    }

    @Test("A request that fits is granted, one that does not waits, and one that never fits is refused")
    func answers() throws {
        #expect(try limits.take(60, for: waiter("a"), priority: .normal))
        let error = #expect(throws: LoadError.self) { try limits.take(101, for: waiter("b"), priority: .normal) }
        #expect(error?.code == .tooMuchMemory)
        #expect(try !limits.take(41, for: waiter("c"), priority: .normal))
        #expect(limits.waitingCount == 1)
        limits.release(60)
        #expect(grants() == ["c"])
        #expect(!limits.takeNow(60) && limits.takeNow(59))
    }

    @Test("No request of equal priority overtakes the first waiter, so that a large one gets its turn")
    func order() throws {
        #expect(try limits.take(60, for: waiter("a"), priority: .normal))
        #expect(try !limits.take(100, for: waiter("large"), priority: .normal))
        #expect(try !limits.take(1, for: waiter("small"), priority: .normal))
        #expect(!limits.takeNow(1))
        limits.release(60)
        #expect(grants() == ["large"])
        limits.release(100)
        #expect(grants() == ["small"])
        #expect(limits.takeNow(99))
        #expect(!limits.takeNow(1))
    }

    @Test("A more urgent request goes first, and a priority change moves a waiting one")
    func priorities() throws {
        #expect(try limits.take(60, for: waiter("a"), priority: .normal))
        let waiters = ["b", "c", "d"].map { waiter($0) }
        for waiter in waiters { #expect(try !limits.take(50, for: waiter, priority: .normal)) }
        #expect(try limits.take(40, for: waiter("urgent"), priority: .high))
        #expect(try !limits.take(60, for: waiter("later"), priority: .low))
        limits.reprioritize(waiters[1], to: .high)
        limits.reprioritize(waiters[0], to: .low)
        limits.reprioritize(waiter("gone"), to: .low)
        #expect(grants() == [])
        limits.release(100)
        #expect(grants() == ["c", "d"])
        limits.release(50)
        #expect(grants() == [])
        limits.reprioritize(waiters[0], to: .normal)
        #expect(grants() == ["b"])
        limits.release(100)
        #expect(grants() == ["later"])
    }

    @Test("A withdrawn request lets those behind it pass")
    func withdrawn() throws {
        #expect(try limits.take(60, for: waiter("a"), priority: .normal))
        let large = waiter("large")
        #expect(try !limits.take(100, for: large, priority: .normal))
        for name in ["b", "c"] { #expect(try !limits.take(20, for: waiter(name), priority: .normal)) }
        #expect(limits.withdraw(large))
        #expect(grants() == ["b", "c"])
        #expect(!limits.withdraw(large))
        #expect(!limits.takeNow(1))
    }

    @Test("A negative limit grants only requests of 0 bytes")
    func nothing() throws {
        let limits = DecodeLimits(memory: -1, time: nil, clock: VirtualClock())
        #expect(try limits.take(0, for: waiter("a"), priority: .normal))
        #expect(throws: LoadError.self) { try limits.take(1, for: waiter("b"), priority: .normal) }
    }
}
