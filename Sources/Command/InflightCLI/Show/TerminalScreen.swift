import Inflight
import InflightConcurrency

/// The terminal while it shows images: one writer at a time, so that no command interrupts another.
///
/// An actor, because writing blocks while the terminal does not read.
actor TerminalScreen {
    enum WriteFailure: Error, Equatable {
        case stream(StandardStream.WriteError)
        /// The window has another size now, so all positions have changed.
        case resized
    }

    private let stream: StandardStream
    private let window: TerminalWindow
    /// The number of lines that the cursor has moved down since the first one.
    private(set) var lines = 0

    init(_ stream: StandardStream, window: TerminalWindow) {
        self.stream = stream
        self.window = window
    }

    func write(_ bytes: [UInt8]) throws(StandardStream.WriteError) {
        try stream.write(bytes)
    }

    /// - Returns: The number of the band's first line.
    func write(_ band: GridText.Band) throws(StandardStream.WriteError) -> Int {
        defer { lines += band.lines }
        try stream.write(band.bytes)
        return lines
    }

    /// Returns how many lines above the cursor a line is, or `nil` if it has left the window.
    func distance(to line: Int) -> Int? {
        let distance = lines - line
        return distance < window.rows ? distance : nil
    }

    /// Changes displayed contents, unless the window size has changed since.
    func change(_ bytes: [UInt8]) throws(WriteFailure) {
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
