/// Brings lines into the order of asking: each is let go as soon as all before it are.
///
/// What has to wait is counted, so that whoever asks can stop asking: this never drops anything and never grows by
/// itself.
struct OrderedLines {
    /// Lines that wait for an earlier one.
    private var waiting: [Int: [UInt8]] = [:]
    /// The number of the line that is let go next.
    private var next = 0
    /// The number that is given out next.
    private var end = 0
    /// Bytes of the lines that wait for an earlier one.
    private(set) var waitingBytes = 0

    /// How many were asked for and not let go yet.
    var count: Int { end - next }

    /// The next number, in the order of asking.
    mutating func opened() -> Int {
        defer { end += 1 }
        return end
    }

    /// - Returns: what can be written now, in order.
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

    /// Everything that still waits, in order, passing over what was never closed: for an early end.
    mutating func remaining() -> [[UInt8]] {
        defer { (waiting, waitingBytes, next) = ([:], 0, end) }
        return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
}
