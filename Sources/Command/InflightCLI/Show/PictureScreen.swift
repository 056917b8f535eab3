import Inflight
import InflightConcurrency

/// The terminal while pictures stand on it: one writer at a time, so that no command stands in the middle of another.
///
/// An actor, since writing blocks where the terminal does not read.
actor PictureScreen {
    enum Loss: Error, Equatable {
        case stream(StandardStream.WriteError)
        /// The window has another size now: nothing is where it was.
        case resized
    }

    private let stream: StandardStream
    private let window: TerminalWindow
    /// Lines that the cursor has come down since the first.
    private(set) var lines = 0

    init(_ stream: StandardStream, window: TerminalWindow) {
        self.stream = stream
        self.window = window
    }

    func write(_ bytes: [UInt8]) throws(StandardStream.WriteError) {
        try stream.write(bytes)
    }

    /// - Returns: the line that it begins with.
    func write(_ band: GridText.Band) throws(StandardStream.WriteError) -> Int {
        defer { lines += band.lines }
        try stream.write(band.bytes)
        return lines
    }

    /// How many lines above the cursor a line stands; `nil` where it has left the window.
    func distance(to line: Int) -> Int? {
        let distance = lines - line
        return distance < window.rows ? distance : nil
    }

    /// Changes something that stands there, unless the window has changed since.
    func change(_ bytes: [UInt8]) throws(Loss) {
        let now = stream.window
        guard now.columns == window.columns, now.rows == window.rows else { throw .resized }
        guard !bytes.isEmpty else { return }
        do throws(StandardStream.WriteError) {
            try stream.write(bytes)
        } catch {
            throw .stream(error)
        }
    }
}
