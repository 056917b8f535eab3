import Foundation

/// What a process has in memory, by the system.
enum ResidentMemory {
    /// Whether a sanitizer has memory of its own beside the program's.
    static let isWatched = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    /// - Parameter process: its number; this one's where none is given. Gives 0 where there is no such process.
    static func bytes(of process: Int32? = nil) -> Int {
        let text = try? String(contentsOfFile: "/proc/\(process.map(String.init) ?? "self")/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }
}
