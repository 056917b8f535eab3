/// Brings lines into the order of asking: each is let go as soon as all before it are.
///
/// What has to wait is counted, so that whoever asks can stop asking: this never drops anything and never grows by
/// itself.
struct OrderedLines {
    private var lines: [[UInt8]?] = []
    /// Where `lines` begins to be in use: what is before has been let go.
    private var head = 0
    /// The number that belongs to `lines[head]`.
    private var first = 0
    /// Bytes of the lines that wait for an earlier one.
    private(set) var waitingBytes = 0

    /// How many were asked for and not let go yet.
    var count: Int { lines.count - head }

    /// The next number, in the order of asking.
    mutating func opened() -> Int {
        lines.append(nil)
        return first + count - 1
    }

    /// - Returns: what can be written now, in order.
    mutating func closed(_ number: Int, _ line: [UInt8]) -> [[UInt8]] {
        precondition(number >= first && number < first + count, "number \(number) is not open")
        lines[head + number - first] = line
        waitingBytes += line.count
        var ready: [[UInt8]] = []
        while head < lines.count, let line = lines[head] {
            ready.append(line)
            lines[head] = nil
            waitingBytes -= line.count
            head += 1
            first += 1
        }
        if head > 1024, head * 2 > lines.count {
            lines.removeFirst(head)
            head = 0
        }
        return ready
    }

    /// Everything that still waits, in order, passing over what was never closed: for an early end.
    mutating func remaining() -> [[UInt8]] {
        let ready = lines[head...].compactMap(\.self)
        first += count
        lines = []
        head = 0
        waitingBytes = 0
        return ready
    }
}
