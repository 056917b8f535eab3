internal import InflightConcurrency
public import InflightCore

/// Checks that any processor fulfils the contract of ``ImageProcessing``.
///
/// ```swift
/// let failures = await ProcessorConformance { Blur(radius: 4) }.run()
/// ```
///
/// It needs no test framework: failures are returned as values.
public struct ProcessorConformance: Sendable {
    private let makeProcessor: @Sendable () -> any ImageProcessing

    /// Creates the suite for one processor.
    ///
    /// - Parameter makeProcessor: returns the processor, with the same parameters each time.
    public init(_ makeProcessor: @escaping @Sendable () -> any ImageProcessing) {
        self.makeProcessor = makeProcessor
    }

    /// All checks, in a fixed order.
    public static var checks: [ConformanceCheck] { list.checks }

    /// Runs one check.
    ///
    /// - Parameter check: one of ``checks``. A check of another suite traps.
    /// - Returns: the violations; empty if the rule holds.
    public func run(_ check: ConformanceCheck) async -> [ConformanceFailure] {
        await ValueBench(makeProcessor).run(check, Self.list.body(of: check))
    }

    /// Runs all checks, one after the other. Returns their violations; empty if all rules hold.
    public func run() async -> [ConformanceFailure] {
        var failures: [ConformanceFailure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    private static let formats = [
        PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA, PixelBuffer.Format(order: .bgra, alpha: .opaque),
    ]

    private static let list = CheckList<ValueBench<@Sendable () -> any ImageProcessing>>([
        (
            "The identity is not empty and is the same for every instance",
            { bench in
                let first = bench.subject()
                let second = bench.subject()
                bench.expect(!first.identity.isEmpty, "the identity is empty")
                bench.expect(
                    first.identity == first.identity && first.identity == second.identity,
                    "the identity changes: \(first.identity), \(second.identity)")
            }
        ),
        (
            "Images of every pixel format are processed, down to one pixel and with row padding",
            { bench in
                for format in formats {
                    for (width, height) in [(1, 1), (1, 17), (23, 1), (40, 30)] {
                        let image = PixelBuffer.pattern(width: width, height: height, format: format)
                        let code = bench.code { () throws(LoadError) in
                            _ = try bench.subject().process(image, cancellation: CancellationFlag())
                        }
                        bench.expect(code == nil, "\(width) × \(height), \(format): \(code.map(\.rawValue) ?? "")")
                    }
                }
            }
        ),
        (
            "Row padding does not change the result, and the input is not modified",
            { bench in
                for format in formats {
                    let image = PixelBuffer.pattern(width: 40, height: 30, format: format)
                    let before = image.bytes.array
                    let packed = PixelBuffer(
                        width: 40, height: 30, bytesPerRow: 160, format: format, bytes: Bytes(image.packed))
                    let one = try bench.subject().process(image, cancellation: CancellationFlag())
                    let two = try bench.subject().process(packed, cancellation: CancellationFlag())
                    bench.expect(one.hasSamePixels(as: two), "\(format): the pixels differ")
                    bench.expect(image.bytes.array == before, "\(format): the input was modified")
                }
            }
        ),
        (
            "Concurrent calls return the same pixels as a single call",
            { bench in
                let image = PixelBuffer.pattern(width: 64, height: 64, format: .rgba)
                let processor = bench.subject()
                let alone = try processor.process(image, cancellation: CancellationFlag())
                bench.atOnce(4) { _ in
                    for _ in 0..<8 {
                        let pixels = try? processor.process(image, cancellation: CancellationFlag())
                        bench.expect(pixels?.hasSamePixels(as: alone) == true, "the pixels differ")
                    }
                }
            }
        ),
        (
            "Processing throws cancelled if cancelled before it starts",
            { bench in
                let flag = CancellationFlag()
                flag.cancel()
                let image = PixelBuffer.pattern(width: 200, height: 200, format: .rgba)
                let code = bench.code { () throws(LoadError) in
                    _ = try bench.subject().process(image, cancellation: flag)
                }
                bench.expect(code == .cancelled, "processing ended with \(code.map(\.rawValue) ?? "success")")
            }
        ),
    ])
}
