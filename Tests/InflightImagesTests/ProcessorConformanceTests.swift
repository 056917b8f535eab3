import InflightConcurrency
import InflightImages
import InflightTestSupport
import Testing

@Suite("Processor conformance checks", .timeLimit(.minutes(10)))
struct ProcessorConformanceTests {
    @Test("A processor that inverts colours passes every check", arguments: ProcessorConformance.checks)
    func correctProcessor(check: ConformanceCheck) async {
        let failures = await ProcessorConformance { Negative() }.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("The processor checks find each fault of a processor") func faultyProcessors() async {
        let faults: [(Negative.Fault, String)] = [
            (.changingIdentity, "the identity changes"), (.readsGaps, "the pixels differ"),
            (.ignoresCancellation, "processing ended with success"), (.refusesNarrow, "1 × 17"),
        ]
        for (fault, sentence) in faults {
            let failures = await ProcessorConformance { Negative(fault: fault) }.run()
            let found = failures.first { $0.observation.contains(sentence) }
            #expect(found != nil, "\(fault): \(failures)")
            // The description alone tells what was violated, and how.
            #expect(found.map { "\($0)" == "\($0.check): \($0.observation)" } ?? true)
        }
    }
}

/// Inverts colours, optionally with a fault.
private struct Negative: ImageProcessing {
    enum Fault: Sendable {
        case none, changingIdentity, readsGaps, ignoresCancellation, refusesNarrow
    }

    var fault = Fault.none
    private let names = Guarded(0)

    init(fault: Fault = .none) {
        self.fault = fault
    }

    var identity: String {
        guard fault == .changingIdentity else { return "negative" }
        return names.withLock { count in
            count += 1
            return "negative \(count)"
        }
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        if fault != .ignoresCancellation, cancellation.isCancelled {
            throw LoadError(.cancelled, stage: .process, message: "It was cancelled.")
        }
        if fault == .refusesNarrow, pixels.width < 2 {
            throw LoadError(.damaged, stage: .process, message: "It is too narrow.")
        }
        let source = pixels.bytes.array
        let bytesPerRow = fault == .readsGaps ? pixels.width * 4 : pixels.bytesPerRow
        return unsafe PixelBuffer(width: pixels.width, height: pixels.height, format: pixels.format) { memory in
            for y in 0..<pixels.height {
                for x in 0..<pixels.width {
                    let (from, to) = (y * bytesPerRow + x * 4, (y * pixels.width + x) * 4)
                    let alpha = source[from + 3]
                    let full = pixels.format.alpha == .premultiplied ? alpha : 255
                    for channel in 0..<3 { unsafe memory[to + channel] = full &- source[from + channel] }
                    unsafe memory[to + 3] = alpha
                }
            }
        }
    }
}
