import Glibc

/// A word in memory that a victim shares with its parent. It outlives the victim, in its state at the kill.
// Unchecked: one thread writes the one word, and another process reads it.
@safe final class SharedProbe: @unchecked Sendable {
    private let word: UnsafeMutablePointer<UInt32>

    init(path: String) {
        let file = unsafe open(path, O_RDWR | O_CREAT, 0o600)
        precondition(file >= 0 && ftruncate(file, 4096) == 0, "cannot create the probe \(path)")
        let memory = unsafe mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        precondition(unsafe memory != MAP_FAILED, "cannot map the probe \(path)")
        close(file)
        unsafe word = memory.unsafelyUnwrapped.bindMemory(to: UInt32.self, capacity: 1)
    }

    deinit {
        unsafe munmap(word, 4096)
    }

    /// Whether a commit is running.
    var isInside: Bool {
        get { unsafe word.pointee != 0 }
        set { unsafe word.pointee = newValue ? 1 : 0 }
    }
}
