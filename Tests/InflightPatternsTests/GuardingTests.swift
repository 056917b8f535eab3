import Dispatch
import InflightPatterns
import Testing

@Suite("Guarded values", .timeLimit(.minutes(10)))
struct GuardingTests {
    enum Kind: CaseIterable {
        case lock
        case queue

        func make(_ value: [Int]) -> any Guarding<[Int]> {
            switch self {
            case .lock: Guarded(value)
            case .queue: QueueGuarded(value)
            }
        }
    }

    @Test("A guarded value loses no update under concurrent reads and writes", arguments: Kind.allCases)
    func exclusion(kind: Kind) {
        func hammer(_ guarded: some Guarding<[Int]>) {
            DispatchQueue.concurrentPerform(iterations: 8) { index in
                for _ in 0..<500 {
                    guarded.write { $0[index % 2] += 1 }
                    // Both elements change together: no reader sees one without the other.
                    guarded.write { value in
                        value[2] += 1
                        value[3] += 1
                    }
                    let isWhole = guarded.read { $0[2] == $0[3] }
                    #expect(isWhole)
                }
            }
            let sums = guarded.read { [$0[0] + $0[1], $0[2]] }
            #expect(sums == [4000, 4000])
        }
        hammer(kind.make([0, 0, 0, 0]))
    }

    @Test("A guarded access returns the result of its body, and rethrows its typed error", arguments: Kind.allCases)
    func results(kind: Kind) {
        struct Broken: Error {}
        func check(_ guarded: some Guarding<[Int]>) {
            #expect(guarded.read { $0.count } == 2)
            #expect(throws: Broken.self) {
                try guarded.write { (value) throws(Broken) in
                    value = []
                    throw Broken()
                }
            }
            #expect(throws: Broken.self) { try guarded.read { (_) throws(Broken) in throw Broken() } }
            // Changes made before the error remain.
            #expect(guarded.read { $0.count } == 0)
        }
        check(kind.make([1, 2]))
    }

    @Test("A queue-guarded value allows concurrent readers")
    func readersTogether() {
        let guarded = QueueGuarded(1)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // Each reader waits until the other is inside.
        DispatchQueue.concurrentPerform(iterations: 2) { index in
            guarded.read { _ in
                (index == 0 ? first : second).signal()
                (index == 0 ? second : first).wait()
            }
        }
    }

    @Test("A read or write after writeLater on a queue-guarded value sees the change")
    func later() {
        let guarded = QueueGuarded([Int]())
        for number in 0..<1000 {
            guarded.writeLater { $0.append(number) }
            let last = guarded.read { $0.last }
            #expect(last == number)
        }
        guarded.writeLater { $0 = [] }
        guarded.write { $0.append(7) }
        #expect(guarded.read { $0 } == [7])
    }

    @Test("Re-entering a queue-guarded value traps instead of deadlocking")
    func reentered() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let guarded = QueueGuarded(1)
            guarded.write { _ in guarded.read { _ in } }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("accessed recursively"), "\(message)")
    }
}
