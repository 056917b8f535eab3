import Glibc
import Inflight
import InflightConcurrency

/// Queries the capabilities of a terminal, and waits for the replies for a limited time.
///
/// A separate thread reads until the last reply has arrived. The command does not wait for a slow terminal, but the
/// thread still reads late replies, so that the shell does not receive them as input.
final class TerminalQuery: Sendable {
    /// The maximum wait for the replies: a terminal replies in milliseconds, over a slow connection in a few hundred.
    static let timeout = Duration.milliseconds(500)
    /// The maximum time to read replies before the terminal is restored.
    static let readTimeout = Duration.seconds(2)

    private let heard = ValueBridge<TerminalReplies>()
    private let ended = ValueBridge<Bool>()
    private let thread = WorkerThreads(count: 1, name: "terminal")

    /// - Parameter terminal: Silenced by the caller, and restored by it after ``end()``.
    init(_ terminal: TerminalModes, asksCell: Bool) {
        let question = KittyGraphics.question(asksCell: asksCell)
        thread.run { [heard, ended] in
            let complete = Self.listen(terminal.descriptor, question) { heard.open(with: $0) }
            ended.open(with: complete)
        }
    }

    /// Returns the replies that arrived in time. Call it once.
    func answer() async -> TerminalReplies { await heard.value() }

    /// Waits until no more replies are expected. Call it once.
    ///
    /// - Returns: Whether all replies have arrived, or none can arrive any more.
    func end() async -> Bool { await ended.value() }

    private static func listen(
        _ descriptor: Int32, _ question: [UInt8], tell: (TerminalReplies) -> Void
    ) -> Bool {
        let clock = SystemClock()
        let start = clock.now()
        var replies = TerminalReplies()
        defer { tell(replies) }
        do throws(StandardStream.WriteError) {
            try StandardStream(descriptor: descriptor).write(question)
        } catch {
            return true
        }
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            let passed = clock.now() - start
            if passed >= timeout { tell(replies) }
            guard passed < readTimeout else { return false }
            let left = (passed < timeout ? timeout : readTimeout) - passed
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watched, 1, Int32(left.saturatedNanoseconds / 1_000_000) + 1) > 0 else { continue }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            // A disconnected terminal sends nothing more.
            if count < 0, errno != EINTR, errno != EAGAIN { return true }
            if count == 0, watched.revents & Int16(POLLHUP) != 0 { return true }
            guard count > 0 else { continue }
            replies.received(buffer[..<count])
            if replies.isComplete { return true }
        }
    }
}
