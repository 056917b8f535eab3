internal import Glibc

/// What this process takes, as the kernel counts it.
public struct ProcessSize: Sendable {
    public var threads: Int
    public var residentBytes: Int
    /// The most that was resident since the start, or since ``resetPeak()``.
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

    /// Lets the peak begin anew at what is resident now.
    ///
    /// - Returns: whether the kernel did.
    public static func resetPeak() -> Bool {
        guard let file = unsafe fopen("/proc/self/clear_refs", "w") else { return false }
        let written = unsafe fputs("5", file)
        return unsafe fclose(file) == 0 && written >= 0
    }
}
