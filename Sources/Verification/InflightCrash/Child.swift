import Glibc

/// A child process that runs this program again and reports to its parent over a pipe.
struct Child {
    let pid: pid_t
    /// The parent's end of the pipe.
    let pipe: Int32

    /// - Parameters:
    ///   - words: the child's arguments.
    ///   - descriptor: the descriptor that the child writes to.
    init(_ words: [String], descriptor: Int32) {
        var ends: [Int32] = [0, 0]
        precondition(unsafe Glibc.pipe(&ends) == 0, "cannot create a pipe")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
        var arguments = unsafe (["/proc/self/exe"] + words).map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var child = pid_t()
        let status = unsafe posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ)
        precondition(status == 0, "cannot start a process: error \(status)")
        pid = child
        pipe = ends[0]
        close(ends[1])
    }

    /// Returns all output of the child until it ends, and its wait status as `waitpid` reports it.
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
