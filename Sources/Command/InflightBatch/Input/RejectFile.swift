internal import Glibc
internal import InflightCore
internal import InflightFiles
internal import InflightPrograms

/// A file of the rows that cannot be used, in JSON Lines.
///
/// Each line is an object with the members `file`, `line` and `reason`, appended to the lines of earlier runs. Used on
/// one thread at a time.
package final class RejectFile {
    private static let bufferSize = 64 * 1024

    private let path: String
    /// Nil after ``close()``.
    private var file: FileDescriptor?
    private var buffer: [UInt8] = []

    /// Opens the file, and creates it if it does not exist.
    ///
    /// - Throws: ``BatchFailure`` if it cannot be written.
    package init(path: String) throws(BatchFailure) {
        self.path = path
        do {
            let file = try FileDescriptor.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOCTTY)
            self.file = file
            let status = try file.status()
            guard status.isFile, status.size > 0 else { return }
            // A full disk may have cut the last line of an earlier run.
            let last = try file.read(at: status.size - 1, limit: 1)
            if last != [UInt8(ascii: "\n")] { buffer.append(UInt8(ascii: "\n")) }
        } catch {
            throw failure(error)
        }
    }

    deinit { try? file?.close() }

    /// Appends a reject. It is in the file after the next ``flush()``, or earlier.
    ///
    /// - Parameters:
    ///   - reject: The row and the reason, of which at most 300 characters are written.
    ///   - name: The name of the row's input.
    /// - Throws: ``BatchFailure`` if the file cannot be written.
    package func append(_ reject: InputReject, of name: String) throws(BatchFailure) {
        buffer += Self.line(reject, of: name)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes all rejects that were appended.
    ///
    /// - Throws: ``BatchFailure`` if the file cannot be written. A later call continues at the first byte not written.
    package func flush() throws(BatchFailure) {
        guard let file else { return }
        while !buffer.isEmpty {
            let count = unsafe buffer.withUnsafeBytes { unsafe write(file.number, $0.baseAddress, $0.count) }
            if count >= 0 { buffer.removeFirst(count) } else if errno != EINTR { throw failure(.last) }
        }
    }

    /// Writes all rejects that were appended, and closes the file. Without this call, they may be lost.
    ///
    /// - Throws: ``BatchFailure`` if the file cannot be written.
    package func close() throws(BatchFailure) {
        try flush()
        do {
            try file.take()?.close()
        } catch {
            throw failure(error)
        }
    }

    /// Returns the line for a reject, with its line break.
    static func line(_ reject: InputReject, of name: String) -> [UInt8] {
        var json = JSONWriter(.required)
        json.add("file", name)
        json.add("line", reject.line)
        json.add("reason", Message.cleaned(reject.reason.description))
        return json.line
    }

    private func failure(_ error: SystemError) -> BatchFailure {
        let remedy = error.isFull ? " Free disk space, then run the command again." : ""
        return .rejects("Cannot write the reject file \(Message.cleaned(path)): \(error.systemText).\(remedy)")
    }
}
