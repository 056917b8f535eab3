internal import Glibc
internal import InflightCore

/// Checks a CA file in advance, since libcurl would report a problem only at the first connection.
enum CAFile {
    private static let maximumBytes = 64 << 20

    static func check(_ path: String) throws(LoadError) {
        // Non-blocking, since the path may name a pipe.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path, unsafe String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw unreadable(path, "it is not a regular file")
        }
        guard status.st_size <= maximumBytes else { throw unreadable(path, "it is longer than 64 MiB") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw unreadable(path, unsafe String(cString: strerror(errno))) }
        guard String(decoding: bytes.prefix(count), as: UTF8.self).contains("CERTIFICATE-----") else {
            throw unreadable(path, "it contains no PEM certificate")
        }
    }

    private static func unreadable(_ path: String, _ why: String) -> LoadError {
        LoadError(
            .cannotRead, stage: .request,
            message:
                "Cannot use the CA file \(Message.cleaned(path)): \(why). Specify a readable file of PEM certificates."
        )
    }
}
