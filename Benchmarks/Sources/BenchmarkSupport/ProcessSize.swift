internal import Glibc

/// What this process takes, as the kernel counts it.
public struct ProcessSize: Sendable {
    public var threads: Int
    public var residentBytes: Int

    public static func now() -> ProcessSize {
        var size = ProcessSize(threads: 0, residentBytes: 0)
        guard let file = unsafe fopen("/proc/self/status", "r") else { return size }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while unsafe fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let value = text.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
            if text.hasPrefix("Threads:") { size.threads = value }
            if text.hasPrefix("VmRSS:") { size.residentBytes = value * 1024 }
        }
        return size
    }
}
