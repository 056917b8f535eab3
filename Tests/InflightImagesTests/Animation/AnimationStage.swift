import InflightConcurrency
import InflightTestSupport

@testable import InflightImages

/// Makes frames of one colour and counts how many it made and how many are alive.
final class CountedFrames: FrameRendering {
    struct Counts {
        var made: [Int] = []
        var alive = 0
        var mostAlive = 0
    }

    private let counts: Guarded<Counts>
    private let failing: Set<Int>

    init(_ counts: Guarded<Counts>, failing: Set<Int> = []) {
        self.counts = counts
        self.failing = failing
    }

    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        counts.withLock { counts in
            counts.made.append(index)
            counts.alive += 1
            counts.mostAlive = max(counts.mostAlive, counts.alive)
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 4)
        for place in 0..<16 { unsafe memory[place] = UInt8(index) }
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(memory)) { [counts] memory in
            unsafe memory.deallocate()
            counts.withLock { $0.alive -= 1 }
        }
        let pixels = PixelBuffer(width: 2, height: 2, bytesPerRow: 8, format: .rgba, bytes: bytes)
        try cancellation.check()
        if failing.contains(index) { throw CodecError.damaged(.gif, "a frame is broken") }
        return pixels
    }
}

/// Runs work synchronously, so that the order of effects is plain.
struct InlineExecutor: WorkExecutor {
    func run(_ work: @escaping @Sendable () -> Void) { work() }
}

/// Holds work until the test runs it.
final class ManualExecutor: WorkExecutor {
    private let work = Guarded<[@Sendable () -> Void]>([])
    let wasGiven = Bridge()

    func run(_ work: @escaping @Sendable () -> Void) {
        self.work.withLock { $0.append(work) }
        wasGiven.open()
    }

    var count: Int { work.withLock { $0.count } }

    func runFirst() {
        let first = work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        first?()
    }
}

extension AnimatedImage {
    /// An animation of counted frames.
    static func counted(
        _ counts: Guarded<CountedFrames.Counts>, milliseconds: [Int], loopCount: Int? = 1, failing: Set<Int> = [],
        buffer: Buffer = .init(), clock: any EngineClock = VirtualClock(), workers: any WorkExecutor = sharedWorkers,
        processors: [ImageProcessor] = []
    ) -> AnimatedImage {
        AnimatedImage(
            Info(
                format: .gif, width: 2, height: 2, loopCount: loopCount,
                durations: milliseconds.map { .milliseconds($0) }),
            renderer: CountedFrames(counts, failing: failing), buffer: buffer, clock: clock, workers: workers,
            processors: processors, options: DecodeOptions(), url: nil)
    }
}
