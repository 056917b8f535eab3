internal import InflightConcurrency
internal import InflightCore

/// The subject of a check without I/O, and a list of failures.
final class ValueBench<Subject: Sendable>: Sendable {
    let subject: Subject
    private let failures = Guarded<[String]>([])

    init(_ subject: Subject) {
        self.subject = subject
    }

    func fail(_ text: String) {
        failures.withLock { $0.append(text) }
    }

    func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
        if !isTrue { fail(text()) }
    }

    /// Returns the code of the error that `body` throws; nil if it does not throw.
    func code(_ body: () throws(LoadError) -> Void) -> LoadError.Code? {
        do throws(LoadError) {
            try body()
            return nil
        } catch {
            expect(error.url == nil, "an error names a URL, which the engine adds: \(error)")
            expect(!error.message.isEmpty, "an error without a message: \(error.code)")
            return error.code
        }
    }

    /// Runs `body` on several threads at once, and returns when all have returned.
    func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let threads = (0..<count).map { number in JoinableThread(name: "conformance") { body(number) } }
        for thread in threads { thread.join() }
    }

    /// Runs a check to its end, and returns its failures.
    func run(_ check: ConformanceCheck, _ body: CheckList<ValueBench>.Body) async -> [ConformanceFailure] {
        do {
            try await body(self)
        } catch {
            fail("\(error)")
        }
        return failures.withLock { $0 }.map { ConformanceFailure(check: check, observation: $0) }
    }
}

extension PixelBuffer {
    /// Returns pixels in which no two rows or columns are the same, with a gap after each row.
    static func pattern(width: Int, height: Int, format: Format) -> PixelBuffer {
        let bytesPerRow = width * 4 + 12
        var bytes = [UInt8](repeating: 0xEE, count: bytesPerRow * height)
        for y in 0..<height {
            for x in 0..<width {
                let alpha = format.alpha == .opaque ? 255 : UInt8(truncatingIfNeeded: 255 - (x + y) * 7)
                let position = y * bytesPerRow + x * 4
                for (channel, value) in [x * 5, y * 3, x ^ y].enumerated() {
                    let color = UInt8(truncatingIfNeeded: value)
                    bytes[position + channel] = format.alpha == .premultiplied ? min(color, alpha) : color
                }
                bytes[position + 3] = alpha
            }
        }
        return PixelBuffer(
            width: width, height: height, bytesPerRow: bytesPerRow, format: format, bytes: Bytes(bytes))
    }

    /// The pixels without the gaps between the rows.
    var packed: [UInt8] {
        let all = bytes.array
        return (0..<height).flatMap { all[$0 * bytesPerRow..<$0 * bytesPerRow + width * 4] }
    }

    func hasSamePixels(as other: PixelBuffer) -> Bool {
        width == other.width && height == other.height && format == other.format && packed == other.packed
    }
}
