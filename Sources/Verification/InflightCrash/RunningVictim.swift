import Glibc

/// A victim, seen from its parent.
final class RunningVictim {
    let seed: UInt64
    private let pid: pid_t
    private let pipe: Int32
    private let probe: SharedProbe
    private var unread: [UInt8] = []

    /// `F_SETPIPE_SZ`, which the Glibc module does not declare.
    private static let setPipeSize: Int32 = 1031

    /// Starts this program again as a victim.
    init(folder: String, scratch: String, name: Int, seed: UInt64, limit: Int64, waitsForDisk: Bool) {
        self.seed = seed
        let probePath = "\(scratch)/probe-\(name)"
        probe = SharedProbe(path: probePath)
        probe.isInside = false
        let child = Child(
            ["victim", folder, probePath, String(seed), String(limit), waitsForDisk ? "disk" : "process"], descriptor: 3
        )
        // The pipe is large enough for all reports of a victim, so that the victim never blocks on its parent.
        _ = fcntl(child.pipe, Self.setPipeSize, 1 << 20)
        _ = fcntl(child.pipe, F_SETFL, O_NONBLOCK)
        (pid, pipe) = (child.pid, child.pipe)
    }

    deinit {
        close(pipe)
    }

    /// Whether a commit is running.
    var isInCommit: Bool { probe.isInside }

    /// Stops the victim at once.
    func stop() {
        Glibc.kill(pid, SIGSTOP)
        var status: Int32 = 0
        unsafe waitpid(pid, &status, WUNTRACED)
    }

    func proceed() {
        Glibc.kill(pid, SIGCONT)
    }

    /// Kills the victim, and waits for its end.
    ///
    /// - Returns: whether it was in a commit then, and the lines that it had reported.
    func kill() -> (inCommit: Bool, lines: [String]) {
        Glibc.kill(pid, SIGKILL)
        var status: Int32 = 0
        unsafe waitpid(pid, &status, 0)
        return (probe.isInside, lines())
    }

    /// Returns the complete lines that the victim has reported since the last call.
    func lines() -> [String] {
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe read(pipe, &chunk, chunk.count)
            if count <= 0 { break }
            unread += chunk[..<count]
        }
        guard let end = unread.lastIndex(of: 0x0A) else { return [] }
        let text = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeSubrange(...end)
        return text.split(separator: "\n").map(String.init)
    }
}
