import Glibc
import InflightTestSupport
import Testing

@testable import InflightBatch

/// All that a reader makes of several inputs.
struct FilesReading {
    var entries: [InputReader.Entry] = []
    var failure: BatchFailure?

    var rows: [InputRow] {
        entries.compactMap { if case .row(let row) = $0.result { row } else { nil } }
    }
    var rejects: [InputReject] {
        entries.compactMap { if case .reject(let reject) = $0.result { reject } else { nil } }
    }
    var urls: [String] { rows.map(\.url) }
    /// The name of the input that failed.
    var name: String? { if case .input(let input) = failure { input.name } else { nil } }
    var error: InputError? { if case .input(let input) = failure { input.error } else { nil } }
}

/// Reads the inputs that arguments of a command name.
func readingFiles(
    _ arguments: [String], _ format: InputFormat? = nil, _ options: InputOptions = .init(), standardInput: Int32 = -1
) -> FilesReading {
    var reading = FilesReading()
    do throws(BatchFailure) {
        let sources = try InputSource.expanding(arguments, format: format)
        let reader = InputReader(sources, options: options, standardInput: standardInput)
        while let entry = try reader.next() { reading.entries.append(entry) }
    } catch {
        reading.failure = error
    }
    return reading
}

/// Compressed inputs.
enum Compressed {
    /// Returns a gzip member with stored blocks (RFC 1951, RFC 1952).
    static func gzip(_ text: String) -> [UInt8] {
        let body = Array(text.utf8)
        precondition(body.count < 1 << 16)
        var crc = UInt32.max
        for byte in body {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
        let size = UInt32(body.count)
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1]
        bytes += littleEndian(size | ~size << 16, 4)
        bytes += body
        bytes += littleEndian(~crc, 4)
        bytes += littleEndian(size, 4)
        return bytes
    }

    /// Returns a zstd frame with one raw block (RFC 8878), whose window is 2 MiB.
    static func zstd(_ text: String) -> [UInt8] {
        let body = Array(text.utf8)
        return zstdFrame([littleEndian(UInt32(body.count) << 3 | 1, 3) + body])
    }

    /// Returns a zstd frame of `count` blocks, each of which repeats a byte 128 KiB times.
    static func zstd(_ byte: UInt8, blocks count: Int) -> [UInt8] {
        let size: UInt32 = 128 << 10
        let blocks = (1...count).map { littleEndian(size << 3 | 1 << 1 | ($0 == count ? 1 : 0), 3) + [byte] }
        return zstdFrame(blocks)
    }

    /// Returns a zstd frame.
    ///
    /// - Parameter window: The window descriptor (RFC 8878 section 3.1.1.1.2).
    static func zstdFrame(_ blocks: [[UInt8]], window: UInt8 = 0x58) -> [UInt8] {
        [0x28, 0xB5, 0x2F, 0xFD, 0, window] + blocks.joined()
    }

    private static func littleEndian(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}

/// A pipe as standard input.
final class InputPipe: Sendable {
    let reading: Int32
    private let writing: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(unsafe pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit { close(reading) }

    /// Writes all bytes, and waits while the pipe is full.
    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(writing, $0.baseAddress, $0.count) }
            precondition(count > 0)
            rest = rest.dropFirst(count)
        }
    }

    func write(_ text: String) { write(Array(text.utf8)) }

    /// Waits for a byte or the end.
    func wait() {
        var byte: UInt8 = 0
        _ = unsafe read(reading, &byte, 1)
    }

    /// Ends the input. Must be called once.
    func end() { close(writing) }
}
