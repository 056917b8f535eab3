internal import Glibc

/// The threads and the memory of this process, from `/proc/self/status`.
public struct ProcessSize: Sendable {
    public var threads: Int
    public var residentBytes: Int
    /// The peak of resident memory since the start, or since ``resetPeak()``.
    public var peakBytes: Int

    public static func now() -> ProcessSize {
        var size = ProcessSize(threads: 0, residentBytes: 0, peakBytes: 0)
        guard let file = unsafe fopen("/proc/self/status", "r") else { return size }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while unsafe fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let value = text.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
            if text.hasPrefix("Threads:") { size.threads = value }
            if text.hasPrefix("VmRSS:") { size.residentBytes = value * 1024 }
            if text.hasPrefix("VmHWM:") { size.peakBytes = value * 1024 }
        }
        return size
    }

    /// Resets the peak to the memory that is resident at the moment.
    ///
    /// - Returns: false if the kernel does not allow it.
    public static func resetPeak() -> Bool {
        guard let file = unsafe fopen("/proc/self/clear_refs", "w") else { return false }
        let written = unsafe fputs("5", file)
        return unsafe fclose(file) == 0 && written >= 0
    }
}
