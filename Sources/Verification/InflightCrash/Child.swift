import Glibc

/// This program once more, as a process of its own that tells its parent something over a pipe.
struct Child {
    let pid: pid_t
    /// The parent's end of the pipe.
    let pipe: Int32

    /// - Parameters:
    ///   - words: what the child is to do.
    ///   - descriptor: what the child writes to.
    init(_ words: [String], descriptor: Int32) {
        var ends: [Int32] = [0, 0]
        precondition(unsafe Glibc.pipe(&ends) == 0, "no pipe can be made")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
        var arguments = unsafe (["/proc/self/exe"] + words).map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var child = pid_t()
        let status = unsafe posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ)
        precondition(status == 0, "no process can be started: error \(status)")
        pid = child
        pipe = ends[0]
        close(ends[1])
    }

    /// All that it says until it ends, and how it ended, as `waitpid` tells it.
    func outcome() -> (text: String, status: Int32) {
        var (bytes, chunk): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65536))
        while true {
            let count = unsafe read(pipe, &chunk, chunk.count)
            if count <= 0 { break }
            bytes += chunk[..<count]
        }
        close(pipe)
        var status: Int32 = 0
        unsafe waitpid(pid, &status, 0)
        return (String(decoding: bytes, as: UTF8.self), status)
    }
}
