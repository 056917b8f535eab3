internal import Glibc
internal import InflightCore

/// Checks a file of PEM in advance, since libcurl would report a problem only at the first connection.
struct PEMFile {
    static let authorities = PEMFile(name: "CA file", content: "certificate", mark: "CERTIFICATE-----")
    static let clientCertificate = PEMFile(name: "client certificate", content: "certificate", mark: "CERTIFICATE-----")
    static let clientKey = PEMFile(name: "key file", content: "private key", mark: "PRIVATE KEY-----")

    private static let maximumBytes = 64 << 20

    let name: String
    let content: String
    let mark: String

    func check(_ path: String) throws(LoadError) {
        // Non-blocking, since the path may name a pipe.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path, unsafe String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw unreadable(path, "it is not a regular file")
        }
        guard status.st_size <= Self.maximumBytes else { throw unreadable(path, "it is longer than 64 MiB") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw unreadable(path, unsafe String(cString: strerror(errno))) }
        guard String(decoding: bytes.prefix(count), as: UTF8.self).contains(mark) else {
            throw unreadable(path, "it contains no PEM \(content)")
        }
    }

    private func unreadable(_ path: String, _ why: String) -> LoadError {
        LoadError(
            .cannotRead, stage: .request,
            message:
                "Cannot use the \(name) \(Message.cleaned(path)): \(why). Specify a readable file with a PEM \(content)."
        )
    }
}
