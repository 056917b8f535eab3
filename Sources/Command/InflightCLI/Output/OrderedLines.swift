/// Puts lines into request order: each is released as soon as all earlier ones are.
///
/// No line is dropped. The caller limits the number of pending lines, by ``count``.
struct OrderedLines {
    /// The lines that wait for an earlier one.
    private var waiting: [Int: [UInt8]] = [:]
    /// The number of the line to release next.
    private var next = 0
    /// The number to allocate next.
    private var end = 0
    /// The bytes of the lines that wait for an earlier one.
    private(set) var waitingBytes = 0

    /// The number of lines requested and not released yet.
    var count: Int { end - next }

    /// Returns the next number, in request order.
    mutating func opened() -> Int {
        defer { end += 1 }
        return end
    }

    /// - Returns: The lines that can be written now, in order.
    mutating func closed(_ number: Int, _ line: [UInt8]) -> [[UInt8]] {
        precondition((next..<end).contains(number), "number \(number) is not open")
        waiting[number] = line
        waitingBytes += line.count
        var ready: [[UInt8]] = []
        while let line = waiting.removeValue(forKey: next) {
            ready.append(line)
            waitingBytes -= line.count
            next += 1
        }
        return ready
    }

    /// Returns all waiting lines in order, skipping those that were never closed, for an early end.
    mutating func remaining() -> [[UInt8]] {
        defer { (waiting, waitingBytes, next) = ([:], 0, end) }
        return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
}
