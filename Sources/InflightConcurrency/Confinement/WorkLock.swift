internal import CInflightConcurrency
internal import Synchronization

/// A ``WorkArea`` behind a lock: the quick kind, for short work.
///
/// Cost: 65 to 95 ns to enter and leave when nobody else is inside.
public final class WorkLock: WorkArea {
    public let name: String
    private let lock = Lock()
    /// Which thread is inside. Only that thread itself can find its own number here.
    private let owner = Atomic<UInt>(0)

    public init(_ name: String) {
        self.name = name
    }

    public var isInside: Bool { owner.load(ordering: .relaxed) == UInt(inflight_thread_id()) }

    public func enter<Output, Failure: Error>(
        _ body: (inout WayOut) throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output {
        checkOutside()
        var out = WayOut()
        lock.lock()
        owner.store(UInt(inflight_thread_id()), ordering: .relaxed)
        let result: Result<Output, Failure>
        do throws(Failure) { result = .success(try body(&out)) } catch { result = .failure(error) }
        owner.store(0, ordering: .relaxed)
        lock.unlock()
        out.take()
        return try result.get()
    }
}
