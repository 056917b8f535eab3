import CInflightGTK
import CXPixels
import Foundation
import InflightConcurrency
import InflightGTK
import InflightTestSupport

/// `inflight-gallery` as a separate process, with its window seen from outside.
@safe @MainActor
final class GalleryProgram {
    private let process = Process()
    private let client: OpaquePointer
    private let folder: URL
    private let errors: URL
    private let ended = Bridge()
    private var pixels: UnsafeMutablePointer<UInt8>?

    struct Failure: Error {
        var message: String
    }

    /// Starts the program with a list of URLs.
    init(at path: String, urls: [String], options: [String]) throws {
        guard let client = unsafe x_client_open() else {
            throw Failure(message: "There is no X display with the SYNC and XTEST extensions. Run under Xvfb.")
        }
        unsafe self.client = unsafe client
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-gallery-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let list = folder.appendingPathComponent("rows.txt")
        try urls.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        errors = folder.appendingPathComponent("stderr")
        try Data().write(to: errors)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = [list.path] + options
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
        var (width, height, number) = (Int32(0), Int32(0), Int64(0))
        switch unsafe x_client_read(client, &pixels, &width, &height, &number) {
        case X_CLIENT_GONE: return .gone
        case X_CLIENT_TORN: return .torn
        default: break
        }
        guard let pixels = unsafe pixels else { return .torn }
        let row = Int(width)
        return .frame(
            number: number,
            GalleryFrame(width: row, height: Int(height)) { x, y in
                let at = unsafe pixels + (y * row + x) * 4
                return unsafe (Int(at[2]), Int(at[1]), Int(at[0]))
            })
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
