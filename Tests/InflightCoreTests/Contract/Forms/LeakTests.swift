import Dispatch
import Foundation
import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Synchronization
import Testing

/// Counts the live requests. Every task, job, loader and operation retains its request: if no request is alive, none of
/// them is.
private final class LiveRequests: Sendable {
    private let alive = Atomic<Int>(0)

    var count: Int { alive.load(ordering: .acquiring) }

    final class Token: Sendable {
        private let liveRequests: LiveRequests

        init(_ liveRequests: LiveRequests) {
            self.liveRequests = liveRequests
            liveRequests.alive.add(1, ordering: .relaxed)
        }

        deinit {
            liveRequests.alive.subtract(1, ordering: .releasing)
        }
    }

    /// A processor that lives as long as its request and changes nothing.
    struct TokenProcessor: ImageProcessing {
        let token: Token
        var identity: String { "rider" }

        func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer { pixels }
    }

    func request(_ url: String) -> ImageRequest {
        var request = ImageRequest(url)
        request.processors = [ImageProcessor(TokenProcessor(token: Token(self)))]
        return request
    }

    /// Waits until none is alive: a thread that has just delivered an ending may still retain its objects.
    func settle() async throws {
        try await eventually("all requests to go, \(count) are alive") { count == 0 }
    }
}

@Suite("Contract 10: leaks", .timeLimit(.minutes(10)))
struct LeakTests {
    /// Loads in all forms, cancels a third of the loads, and shuts the pipeline down.
    private static func round(_ count: Int) async throws {
        let liveRequests = LiveRequests()
        // The engine retains its codecs.
        weak var codec: FakeCodec?
        do {
            let stage = try Stage(.automatic) { $0.maximumConcurrentFetchesPerOrigin = 64 }
            codec = stage.codec
            stage.transport.serveOthers(.ok(FakeCodec.picture(padding: 50), chunks: [20]))
            stage.transport.serve("http://a.example/7", .status(404))
            let queues = (0..<4).map { DispatchQueue(label: "callbacks \($0)") }
            let batch = 60
            for first in stride(from: 0, to: count, by: batch) {
                let loads = (first..<min(count, first + batch)).map { number in
                    Form.allCases[number % Form.allCases.count].begin(
                        liveRequests.request("http://a.example/\(number % 50)"), stage.pipeline,
                        queue: queues[number % 4])
                }
                for (index, load) in loads.enumerated() where index % 3 == 0 { load.cancel() }
                for (index, load) in loads.enumerated() where index % 3 != 0 { _ = await load.deliveries.ending }
                for load in loads { await load.settle() }
                stage.pipeline.cache.removeAll()
            }
            await stage.pipeline.shutdown(.finish)
            await stage.transport.shutdown()
            #expect(stage.pipeline.statistics.tasks > count / 2)
        }
        try await liveRequests.settle()
        try await eventually("the engine to go") { codec == nil }
    }

    /// Returns the number of allocated bytes: the allocator's memory from the system, less its free memory.
    private static func allocatedBytes() -> Int {
        typealias Inform = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
        // The Glibc module does not include its header.
        let symbol = unsafe dlsym(nil, "malloc_info")
        guard let symbol = unsafe symbol else { preconditionFailure("this C library has no malloc_info") }
        let inform = unsafe unsafeBitCast(symbol, to: Inform.self)
        var text: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let stream = unsafe open_memstream(&text, &count) else { preconditionFailure("no memory stream") }
        _ = unsafe inform(0, stream)
        unsafe fclose(stream)
        guard let written = unsafe text else { preconditionFailure("the memory stream is empty") }
        defer { unsafe free(written) }
        let report = unsafe String(cString: written)
        // The totals of all arenas follow the last arena.
        let sums = report.components(separatedBy: "</heap>").last ?? ""
        func size(_ element: String) -> Int {
            let line = sums.split(separator: "\n").first { $0.hasPrefix(element) }
            let digits = line?.components(separatedBy: "size=\"").last?.prefix { $0.isNumber }
            guard let size = digits.flatMap({ Int($0) }) else { preconditionFailure("nothing is told of \(element)") }
            return size
        }
        return size("<system type=\"current\"") + size("<total type=\"mmap\"")
            - size("<total type=\"fast\"") - size("<total type=\"rest\"")
    }

    @Test("100,000 loads in all API forms, a third of them cancelled, leak neither objects nor memory")
    func leaks() async throws {
        // In its own process, because allocations of concurrent tests would count too.
        await #expect(processExitsWith: .success) {
            guard !Sanitizer.isOn else {
                // Allocators of sanitizers retain freed memory, so only objects are counted.
                return try await LeakTests.round(5_000)
            }
            try await LeakTests.round(50_000)
            let before = LeakTests.allocatedBytes()
            try await LeakTests.round(50_000)
            // Four bytes per load: the smallest leak is one allocation of 16 bytes per load. The caches of threads that
            // come and go vary by less.
            let tolerance = 200_000
            // The script's thread has recorded every exchange, and releases the records when it ends.
            let deadline = SystemClock().now() + .seconds(30)
            var after = LeakTests.allocatedBytes()
            while after - before >= tolerance, SystemClock().now() < deadline {
                await Task.yield()
                after = LeakTests.allocatedBytes()
            }
            #expect(after - before < tolerance, "from \(before) to \(after) bytes")
        }
    }
}
