import Glibc
import Inflight
import InflightConcurrency

/// Asks a terminal what it can, and waits for the answer for as long as that is reasonable.
///
/// A thread of its own reads until the last answer has come. A terminal that takes its time is not waited for, but heard
/// out: what it answers late is read here, so that it is not left to the shell.
final class TerminalQuery: Sendable {
    /// How long nobody goes on without the answer: a terminal answers in milliseconds, one behind a slow line in a few
    /// hundred.
    static let patience = Duration.milliseconds(500)
    /// How long it is listened to, before the terminal is given back.
    static let attention = Duration.seconds(2)

    private let heard = ValueBridge<TerminalReplies>()
    private let ended = ValueBridge<Bool>()
    private let thread = WorkerThreads(count: 1, name: "terminal")

    /// - Parameter terminal: silenced by the caller, and given back by it after ``end()``.
    init(_ terminal: TerminalModes, asksCell: Bool) {
        let question = KittyGraphics.question(asksCell: asksCell)
        thread.run { [heard, ended] in
            let complete = Self.listen(terminal.descriptor, question) { heard.open(with: $0) }
            ended.open(with: complete)
        }
    }

    /// What was answered in good time. To be called once.
    func answer() async -> TerminalReplies { await heard.value() }

    /// Waits until nothing more is to come. To be called once.
    ///
    /// - Returns: whether all was answered.
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
            if passed >= patience { tell(replies) }
            guard passed < attention else { return false }
            let left = (passed < patience ? patience : attention) - passed
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watched, 1, Int32(left.saturatedNanoseconds / 1_000_000) + 1) > 0 else { continue }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            // A terminal that is gone has nothing more to say.
            if count < 0, errno != EINTR, errno != EAGAIN { return true }
            if count == 0, watched.revents & Int16(POLLHUP) != 0 { return true }
            guard count > 0 else { continue }
            replies.received(buffer[..<count])
            if replies.isComplete { return true }
        }
    }
}
