internal import CInflightSandbox
import InflightWorker

/// The rights that a decoder drops before it reads untrusted input. They cannot be regained.
struct Sandbox {
    private(set) var protections: Set<DecoderConfiguration.Protection> = []
    private var hasNamespaces = false

    /// Starts the sandbox. Call it first, while the process has one thread.
    mutating func begin() {
        inflight_use_one_arena()
        hasNamespaces = inflight_unshare_namespaces() == 0
    }

    /// Closes the sandbox. Call it when everything that will be needed is open and loaded. Capabilities and Landlock
    /// apply to the calling thread, and threads started afterwards inherit its remaining rights.
    ///
    /// - Returns: a description of the missing mandatory protection, or `nil` if all of them are active.
    mutating func close(maximumMemory: Int, maximumSeconds: Int) -> String? {
        var status = inflight_limit_resources(
            maximumMemory, max(maximumMemory / 2, 1 << 20), Self.descriptors, UInt(clamping: maximumSeconds))
        guard status == 0 else { return "its memory cannot be limited (error \(-status))" }
        protections.insert(.limits)
        // Landlock permits no mounts, so the namespaces come first.
        if hasNamespaces, inflight_enter_empty_root() == 0 { protections.insert(.namespaces) }
        if inflight_restrict_files() == 0 { protections.insert(.landlock) }
        status = inflight_drop_privileges()
        guard status == 0 else { return "its privileges cannot be dropped (error \(-status))" }
        status = inflight_filter_system_calls()
        guard status == 0 else {
            return
                "its system calls cannot be filtered (error \(-status)). Enable seccomp in the system, or decode in "
                + "this process"
        }
        protections.insert(.seccomp)
        return nil
    }

    /// Three standard ones, two sockets, the input, and pixels being decoded. Each may be as large as the file limit.
    private static let descriptors: UInt32 = 12
}
