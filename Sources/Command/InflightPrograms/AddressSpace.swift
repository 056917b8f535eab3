internal import Glibc

/// The address space that `ulimit -v` leaves to this process.
///
/// Without free address space, no thread can start, and code that waits for one waits forever.
package enum AddressSpace {
    /// The number of bytes for the stacks of a dozen threads, and for bodies and pixels.
    private static let needed = 160 << 20

    /// Sets the limits of `malloc`, and returns whether enough address space is free. Call it before other threads
    /// start.
    package static func prepare() -> Bool {
        var limits = rlimit()
        let isLimited =
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0 && limits.rlim_cur != rlim_t.max
        prepareMalloc(arenas: isLimited ? 1 : 2)
        guard isLimited else { return true }
        let memory = unsafe mmap(nil, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard unsafe memory != MAP_FAILED else { return false }
        unsafe munmap(memory, needed)
        return true
    }

    /// `Glibc` does not import `mallopt`. The type and the options are those in malloc.h.
    private static func prepareMalloc(arenas: Int32) {
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let mallopt = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        // M_ARENA_MAX: each arena keeps what its threads have freed, and reserves 64 MiB of address space.
        _ = mallopt(-8, arenas)
        // M_MMAP_THRESHOLD, M_TRIM_THRESHOLD: the pixels of small images are not returned to the system after each
        // image, because the kernel clears every page that it provides.
        _ = mallopt(-3, 4 << 20)
        _ = mallopt(-1, 8 << 20)
    }
}
