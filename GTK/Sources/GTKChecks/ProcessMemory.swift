import CAllocated
import Foundation

/// What a process has in memory.
enum ProcessMemory {
    /// Whether a sanitizer has memory of its own beside the program's.
    static let isWatched = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    /// What this process has in memory by the system, and how much of it was allocated and not freed.
    static func now() -> (resident: Int, allocated: Int) { (bytes(), allocated_bytes()) }

    /// What a process has in memory, by the system.
    /// - Parameter process: its number; this one's where none is given. Gives 0 where there is no such process.
    static func bytes(of process: Int32? = nil) -> Int {
        let text = try? String(contentsOfFile: "/proc/\(process.map(String.init) ?? "self")/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }
}
