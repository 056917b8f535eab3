internal import Dispatch
internal import Glibc
internal import Synchronization

/// Two threads that add to one number, without any synchronization.
enum RaceChild {
    /// The number of additions of each thread.
    static let additions = 500_000

    /// The first thread stops once between its read and its write, until the second has added, as a scheduler may stop
    /// it anywhere. So at least one addition is lost, however idle or busy the machine is.
    static func run(_ recorder: Recorder) {
        // The race is intended: reads and writes of both threads meet, and the process is discarded afterwards.
        nonisolated(unsafe) let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        unsafe counter.initialize(to: 0)
        defer { unsafe counter.deallocate() }
        let group = DispatchGroup()
        let start = ThreadBarrier(2)
        // Relaxed, which orders nothing, so that the accesses to the number stay unsynchronized.
        let (hasRead, hasAdded) = (Flag(), Flag())
        func add(_ name: String, _ first: @escaping @Sendable () -> Void) {
            DispatchQueue(label: name).async(group: group) {
                start.wait()
                recorder.span(name, "+ 1") {
                    first()
                    for _ in 1..<additions { unsafe write(read(counter) + 1, to: counter) }
                }
            }
        }
        add("first thread") {
            let seen = unsafe read(counter)
            hasRead.set()
            while !hasAdded.isSet { sched_yield() }
            unsafe write(seen + 1, to: counter)
        }
        add("second thread") {
            while !hasRead.isSet { sched_yield() }
            unsafe write(read(counter) + 1, to: counter)
            hasAdded.set()
        }
        group.wait()
        recorder.count("counted", unsafe counter.pointee)
    }

    /// Not inlined, like `write`. Otherwise the compiler would merge all additions into one, which hides the race.
    @inline(never)
    private static func read(_ counter: UnsafeMutablePointer<Int>) -> Int { unsafe counter.pointee }

    @inline(never)
    private static func write(_ number: Int, to counter: UnsafeMutablePointer<Int>) { unsafe counter.pointee = number }

    private final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }
}

/// Holds all threads until the last one has arrived, so that they begin together.
struct ThreadBarrier {
    private let group = DispatchGroup()

    init(_ count: Int) {
        for _ in 0..<count { group.enter() }
    }

    func wait() {
        group.leave()
        group.wait()
    }
}
