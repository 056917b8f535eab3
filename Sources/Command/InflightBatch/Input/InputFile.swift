internal import Glibc
internal import InflightFiles

/// An open input, read in chunks only on demand.
///
/// It holds one chunk, one decoded piece and what ``RowReader`` holds. Used on one thread at a time.
final class InputFile {
    static let chunkSize = 256 * 1024

    private let descriptor: Int32
    private let isOwner: Bool
    private var chunk = [UInt8](repeating: 0, count: chunkSize)
    private var decoder = InputDecoder()
    private var rows: RowReader
    private var hasEnded = false
    private var appendedCount = 0
    private let copy: InputCopy?

    /// Opens an input.
    ///
    /// - Parameters:
    ///   - standardInput: The descriptor of standard input, which stays open.
    ///   - keptCopy: The path for a copy of standard input; if nil, none is made.
    init(
        _ source: InputSource, options: InputOptions, standardInput: Int32, keptCopy: String? = nil
    ) throws(InputError) {
        copy = source.path == nil ? try keptCopy.map { path throws(InputError) in try InputCopy(path) } : nil
        rows = RowReader(format: source.format, options: options)
        isOwner = source.path != nil
        descriptor = source.path.map { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) } ?? standardInput
        guard descriptor >= 0 || !isOwner else { throw .cannotOpen(code: errno) }
        guard let status = try? FileDescriptor(descriptor).status() else { throw .cannotOpen(code: errno) }
        if status.isFolder { throw .folder }
    }

    deinit {
        if isOwner, descriptor >= 0 { close(descriptor) }
    }

    /// The number of rows so far, rejected ones included.
    var rowCount: Int { rows.rowCount }

    /// The number of bytes of the file that the rows so far have taken. An estimate if the file is compressed.
    var readBytes: Double { Double(appendedCount - decoder.pendingCount) * rows.readShare }

    /// Returns the next row or reject, or `nil` at the end. Blocks until it is read.
    func next() throws(InputError) -> RowReader.Result? {
        while true {
            if let result = try rows.next() { return result }
            if hasEnded { return nil }
            if let piece = try decoder.next() {
                try copy?.append(piece)
                rows.append(piece)
            } else if decoder.isAtEnd {
                try copy?.commit()
                rows.end()
                hasEnded = true
            } else {
                try read()
            }
        }
    }

    private func read() throws(InputError) {
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                appendedCount += count
                return decoder.append(chunk[..<count])
            }
            if count == 0 { return decoder.end() }
            switch errno {
            case EINTR: break
            case EAGAIN:
                // Standard input may be shared with a program that has made it non-blocking.
                var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&watched, 1, -1)
            default: throw .cannotRead(code: errno)
            }
        }
    }
}
