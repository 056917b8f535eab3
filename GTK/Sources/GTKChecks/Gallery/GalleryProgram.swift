import CInflightGTK
import CXPixels
import Foundation
import InflightConcurrency
import InflightGTK
import InflightTestSupport

/// A program with a window, as a separate process that is seen from outside: `inflight-gallery`, if not another.
@safe @MainActor
final class GalleryProgram {
    private let process = Process()
    private let client: OpaquePointer
    private let folder: URL
    private let errors: URL
    private let ended = Bridge()
    private let rowCount: Int
    private var pixels: UnsafeMutablePointer<UInt8>?

    struct Failure: Error {
        var message: String
    }

    /// Starts the program. Its first argument is the name of a file with the URLs, or these are its arguments.
    init(at path: String, urls: [String], inFile: Bool = true, options: [String] = []) throws {
        guard let client = unsafe x_client_open() else {
            throw Failure(message: "There is no X display with the SYNC and XTEST extensions. Run under Xvfb.")
        }
        unsafe self.client = unsafe client
        rowCount = urls.count
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-gallery-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let list = folder.appendingPathComponent("rows.txt")
        try urls.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        errors = folder.appendingPathComponent("stderr")
        try Data().write(to: errors)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = (inFile ? [list.path] : urls) + options
        process.standardError = try FileHandle(forWritingTo: errors)
        process.terminationHandler = { [ended] _ in ended.open() }
        try process.run()
    }

    isolated deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        unsafe x_client_close(client)
        unsafe g_free(pixels)
        try? FileManager.default.removeItem(at: folder)
    }

    var isRunning: Bool { process.isRunning }
    /// The resident memory of the process, in bytes.
    var memory: Int { ProcessMemory.bytes(of: process.processIdentifier) }

    // MARK: Observation

    /// Takes the program's window and gives it the keyboard. Returns whether there is a window.
    func takeWindow() -> Bool { unsafe x_client_take_window(client, process.processIdentifier) != 0 }

    /// Waits for the program's first window, and takes it.
    func takeFirstWindow() async throws {
        var tries = 0
        while !takeWindow() {
            tries += 1
            guard tries < 50_000, isRunning else { throw Failure(message: "The program opened no window.") }
            await Task.yield()
        }
    }

    /// Waits for the window's next frame. No frame comes while nothing moves.
    /// - Returns: whether there was a frame.
    func waitForFrame(atMost milliseconds: Int32 = 100) -> Bool {
        unsafe x_client_wait_for_frame(client, milliseconds) != 0
    }

    enum Look {
        /// The window no longer exists.
        case gone
        /// A frame was being drawn.
        case torn
        case frame(number: Int64, GalleryFrame?)
    }

    func look() -> Look {
        var number = Int64(0)
        let (result, frame) = read(&number) { GalleryFrame(width: $0, height: $1, rowCount: rowCount, pixel: $2) }
        if result == X_CLIENT_GONE { return .gone }
        return frame.map { .frame(number: number, $0) } ?? .torn
    }

    /// Returns the share of the window's pixels that have this colour, if a whole frame could be read.
    func share(of color: (Int, Int, Int)) -> Double? {
        var number = Int64(0)
        return read(&number) { width, height, pixel in
            var count = 0
            for y in 0..<height { for x in 0..<width where pixel(x, y) == color { count += 1 } }
            return Double(count) / Double(max(1, width * height))
        }.value
    }

    private func read<Value>(
        _ number: inout Int64, _ body: (_ width: Int, _ height: Int, (_ x: Int, _ y: Int) -> (Int, Int, Int)) -> Value
    ) -> (result: XClientRead, value: Value?) {
        var (width, height) = (Int32(0), Int32(0))
        let result = unsafe x_client_read(client, &pixels, &width, &height, &number)
        guard result != X_CLIENT_GONE, result != X_CLIENT_TORN, let pixels = unsafe pixels else { return (result, nil) }
        let row = Int(width)
        let value = body(row, Int(height)) { x, y in
            let at = unsafe pixels + (y * row + x) * 4
            return unsafe (Int(at[2]), Int(at[1]), Int(at[0]))
        }
        return (result, value)
    }

    // MARK: Input

    func press(_ key: String, control: Bool = false) { unsafe x_client_key(client, key, control ? 1 : 0) }

    func resize(width: Int, height: Int) { unsafe x_client_resize(client, Int32(width), Int32(height)) }

    func move(x: Int, y: Int) { unsafe x_client_move(client, Int32(x), Int32(y)) }

    func button(_ number: Int32, isDown: Bool) { unsafe x_client_button(client, number, isDown ? 1 : 0) }

    func turnWheel(down: Bool) {
        for isDown in [true, false] { button(down ? 5 : 4, isDown: isDown) }
    }

    /// Asks the window to close, and waits for the process to end.
    /// - Returns: the exit status, or nil if it did not exit normally within ten seconds, and its standard error.
    func close() async -> (status: Int32?, errors: String) {
        unsafe x_client_ask_to_close(client)
        after(milliseconds: 10_000) { [ended] in
            ended.open()
            return false
        }
        await ended.wait()
        let status = process.isRunning || process.terminationReason != .exit ? nil : process.terminationStatus
        let text = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
        return (status, text)
    }
}
