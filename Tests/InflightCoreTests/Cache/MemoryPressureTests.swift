import Glibc
import InflightConcurrency
import Testing

@testable import InflightCore

/// A descriptor that reports urgent data on demand, as the kernel does under memory pressure.
private final class Alarm: Sendable {
    let watched: Int32
    private let other: Int32

    init() {
        // Only TCP supports urgent data on every kernel.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        watched = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let connection = watched
        other = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length)
                listen(listener, 1)
                unsafe getsockname(listener, pointer, &length)
                unsafe connect(connection, pointer, length)
                return accept(listener, nil, nil)
            }
        }
        close(listener)
    }

    deinit {
        close(other)
    }

    func ring() {
        let byte: [UInt8] = [1]
        unsafe send(other, byte, 1, Int32(MSG_OOB))
    }

    /// Clears the report. The kernel clears those of its own triggers by itself.
    func silence() {
        var byte: UInt8 = 0
        unsafe recv(watched, &byte, 1, Int32(MSG_OOB))
    }
}

@Suite("Memory pressure", .timeLimit(.minutes(10)))
struct MemoryPressureTests {
    @Test("Memory pressure shrinks the cache to a half, and a full stall to an eighth")
    func shrinks() async {
        let (some, full) = (Alarm(), Alarm())
        let monitor = MemoryPressureMonitor {
            [.init(descriptor: some.watched, pressure: .some), .init(descriptor: full.watched, pressure: .full)]
        }
        let cache = MemoryCache<Int, Int>(
            configuration: MemoryCacheConfiguration(limit: 80_000), monitor: monitor)
        let reports = AsyncStream<MemoryPressure>.makeStream()
        // Subscribers run in no fixed order: the second report proves that the cache has handled the first.
        for key in 0..<80 { cache.insert(key, for: key, cost: 1000) }
        let subscription = monitor.subscribe { pressure in
            if pressure == .some { some.silence() } else { full.silence() }
            reports.continuation.yield(pressure)
        }
        var heard = reports.stream.makeAsyncIterator()

        some.ring()
        #expect(await heard.next() == .some)
        some.ring()
        #expect(await heard.next() == .some)
        #expect(cache.statistics.cost == 40_000)

        full.ring()
        #expect(await heard.next() == .full)
        full.ring()
        #expect(await heard.next() == .full)
        #expect(cache.statistics.cost == 10_000)
        withExtendedLifetime(subscription) {}
    }

    @Test("The monitor watches only while it has subscribers")
    func stops() {
        let opened = Guarded<[Alarm]>([])
        let monitor = MemoryPressureMonitor {
            let alarm = Alarm()
            opened.withLock { $0.append(alarm) }
            return [.init(descriptor: alarm.watched, pressure: .some)]
        }
        #expect(!monitor.isWatching)
        var first: MemoryPressureMonitor.Subscription? = monitor.subscribe { _ in }
        var second: MemoryPressureMonitor.Subscription? = monitor.subscribe { _ in }
        #expect(monitor.isWatching)
        #expect(opened.withLock { $0.count } == 1)
        first = nil
        #expect(monitor.isWatching)
        second = nil
        #expect(!monitor.isWatching)
        first = monitor.subscribe { _ in }
        #expect(monitor.isWatching)
        #expect(opened.withLock { $0.count } == 2)
        withExtendedLifetime((first, second)) {}
    }

    @Test("A cache subscribes only if it reacts to memory pressure, and unsubscribes when released")
    func optOut() {
        let alarm = Alarm()
        let monitor = MemoryPressureMonitor { [.init(descriptor: alarm.watched, pressure: .some)] }
        let deaf = MemoryCache<Int, Int>(
            configuration: MemoryCacheConfiguration(limit: 1000, reactsToMemoryPressure: false), monitor: monitor)
        #expect(!monitor.isWatching)
        var listening: MemoryCache<Int, Int>? = MemoryCache(
            configuration: MemoryCacheConfiguration(limit: 1000), monitor: monitor)
        #expect(monitor.isWatching)
        listening = nil
        #expect(!monitor.isWatching)
        withExtendedLifetime((deaf, listening)) {}
    }

    @Test("Without kernel support, the monitor does not watch and opens the triggers only once")
    func unavailable() {
        let asked = Guarded(0)
        let monitor = MemoryPressureMonitor {
            asked.withLock { $0 += 1 }
            return []
        }
        let first = monitor.subscribe { _ in }
        let second = monitor.subscribe { _ in }
        #expect(!monitor.isWatching)
        #expect(asked.withLock { $0 } == 1)
        withExtendedLifetime((first, second)) {}
    }

    @Test("The kernel triggers are opened with close-on-exec")
    func kernel() {
        for trigger in MemoryPressureTriggers.openAll() {
            #expect(fcntl(trigger.descriptor, F_GETFD) & FD_CLOEXEC != 0)
            close(trigger.descriptor)
        }
    }
}
