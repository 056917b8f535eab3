internal import CInflightSandbox

/// What a decoder gives up before it sees a stranger's bytes. What is lost is lost for good.
struct Sandbox {
    private(set) var protections: [String] = []

    /// To be called first, while the process has one thread.
    mutating func begin() {
        inflight_use_one_heap()
        if inflight_leave_namespaces() == 0 { protections.append("namespaces") }
    }

    /// To be called when everything is open and loaded that will be needed.
    ///
    /// Gives what is missing of what has to be, for people; `nil` where all of that is there.
    mutating func close(maximumMemory: Int, maximumSeconds: Int) -> String? {
        var status = inflight_limit_resources(
            maximumMemory, max(maximumMemory / 2, 1 << 20), Self.descriptors, UInt(clamping: maximumSeconds))
        guard status == 0 else { return "its memory cannot be limited (error \(-status))" }
        protections.append("limits")
        if inflight_give_up_files() == 0 { protections.append("landlock") }
        status = inflight_give_up_privileges()
        guard status == 0 else { return "its privileges cannot be given up (error \(-status))" }
        status = inflight_filter_system_calls()
        guard status == 0 else {
            return
                "its system calls cannot be filtered (error \(-status)). Have the system allow seccomp, or decode in "
                + "process"
        }
        protections.append("seccomp")
        return nil
    }

    /// Three standard ones, two sockets, the input, and pixels in the making: each may be as large as the limit on files.
    private static let descriptors: UInt32 = 12
}
