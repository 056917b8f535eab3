import CAllocated
import Foundation

/// The memory of a process.
enum ProcessMemory {
    /// Whether a sanitizer is active, which uses memory of its own.
    static let isWatched = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    /// Returns the resident memory of this process as the system reports it, and the bytes allocated and not freed.
    static func now() -> (resident: Int, allocated: Int) { (bytes(), allocated_bytes()) }

    /// Returns the resident memory of a process in bytes, as the system reports it, or 0 if there is no such process.
    /// - Parameter process: the process ID. If nil, this process is measured.
    static func bytes(of process: Int32? = nil) -> Int {
        let text = try? String(contentsOfFile: "/proc/\(process.map(String.init) ?? "self")/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }
}
