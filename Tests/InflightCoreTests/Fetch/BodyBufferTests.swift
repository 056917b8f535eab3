import Testing

@testable import InflightCore

@Suite("Body buffer", .timeLimit(.minutes(10)))
struct BodyBufferTests {
    private func append(_ bytes: [UInt8], to buffer: BodyBuffer) {
        unsafe bytes.withUnsafeBytes { unsafe buffer.append($0) }
    }

    @Test("Bytes stay in order, whatever length was announced", arguments: [nil, 0, 10, 5000, Int64.max] as [Int64?])
    func order(announced: Int64?) {
        let buffer = BodyBuffer()
        if let announced { buffer.expect(announced) }
        var expected: [UInt8] = []
        for size in [0, 1, 7, 4096, 3, 10_000, 1] {
            let chunk = (0..<size).map { UInt8(truncatingIfNeeded: $0 + size) }
            append(chunk, to: buffer)
            expected += chunk
        }
        #expect(buffer.count == expected.count)
        #expect(buffer.copy().array == expected)
        let taken = buffer.take()
        #expect(taken.array == expected)
        #expect(buffer.count == 0)
        #expect(buffer.take().isEmpty)
        // The buffer can be reused, and the bytes taken from it do not change.
        append([1, 2], to: buffer)
        #expect(buffer.copy().array == [1, 2])
        #expect(taken.array == expected)
    }

    @Test("A snapshot does not change when the buffer grows, is taken or is reset")
    func snapshots() {
        let buffer = BodyBuffer()
        var expected: [UInt8] = []
        var seen: [(Bytes, Int)] = []
        for size in [1, 7, 4096, 3, 10_000, 1] {
            let chunk = (0..<size).map { UInt8(truncatingIfNeeded: $0 + size) }
            append(chunk, to: buffer)
            expected += chunk
            seen.append((buffer.snapshot(), expected.count))
        }
        seen.append((buffer.take(), expected.count))
        #expect(buffer.count == 0)
        append([9, 9], to: buffer)
        seen.append((buffer.snapshot(), -1))
        buffer.reset()
        #expect(buffer.snapshot().isEmpty)
        for (bytes, count) in seen {
            #expect(bytes.array == (count < 0 ? [9, 9] : Array(expected[..<count])))
        }
    }

    @Test("A reset empties the buffer, and a late or negative expected length is harmless")
    func reset() {
        let buffer = BodyBuffer()
        append([1, 2, 3], to: buffer)
        buffer.expect(100)
        #expect(buffer.copy().array == [1, 2, 3])
        buffer.reset()
        #expect(buffer.count == 0)
        #expect(buffer.copy().isEmpty)
        buffer.expect(-5)
        append([9], to: buffer)
        #expect(buffer.take().array == [9])
    }
}
