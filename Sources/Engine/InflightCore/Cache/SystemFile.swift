#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads files in which the kernel publishes information.
enum SystemFile {
    /// Returns the text of the file at `path`, at most `limit` bytes, or nil if it cannot be read.
    static func read(_ path: String, limit: Int) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while text.count < limit {
            let wanted = min(chunk.count, limit - text.count)
            #if canImport(Darwin)
                let count = unsafe Darwin.read(descriptor, &chunk, wanted)
            #elseif canImport(Glibc)
                let count = unsafe Glibc.read(descriptor, &chunk, wanted)
            #elseif canImport(Musl)
                let count = unsafe Musl.read(descriptor, &chunk, wanted)
            #endif
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            text += chunk[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
