internal import CInflightSandbox
import InflightWorker

/// What a decoder gives up before it sees a stranger's bytes. What is lost is lost for good.
struct Sandbox {
    private(set) var protections: Set<DecoderProtection> = []
    private var hasNamespaces = false

    /// To be called first, while the process has one thread.
    mutating func begin() {
        inflight_use_one_heap()
        hasNamespaces = inflight_leave_namespaces() == 0
    }

    /// To be called when everything is open and loaded that will be needed. Capabilities and Landlock are the calling
    /// thread's: threads that are started afterwards inherit what it has left.
    ///
    /// Gives what is missing of what has to be, for people; `nil` where all of that is there.
    mutating func close(maximumMemory: Int, maximumSeconds: Int) -> String? {
        var status = inflight_limit_resources(
            maximumMemory, max(maximumMemory / 2, 1 << 20), Self.descriptors, UInt(clamping: maximumSeconds))
        guard status == 0 else { return "its memory cannot be limited (error \(-status))" }
        protections.insert(.limits)
        // Landlock allows no mounts.
        if hasNamespaces, inflight_enter_empty_root() == 0 { protections.insert(.namespaces) }
        if inflight_give_up_files() == 0 { protections.insert(.landlock) }
        status = inflight_give_up_privileges()
        guard status == 0 else { return "its privileges cannot be given up (error \(-status))" }
        status = inflight_filter_system_calls()
        guard status == 0 else {
            return
                "its system calls cannot be filtered (error \(-status)). Have the system allow seccomp, or decode in "
                + "process"
        }
        protections.insert(.seccomp)
        return nil
    }

    /// Three standard ones, two sockets, the input, and pixels in the making: each may be as large as the limit on files.
    private static let descriptors: UInt32 = 12
}
