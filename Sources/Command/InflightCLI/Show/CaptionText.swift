import Inflight
import InflightCore

/// The line below an image in a grid, or instead of an image that failed to load. It is safe to display.
enum CaptionText {
    /// Returns the shortened name and the size, or only the name if both do not fit.
    static func line(_ place: String, width: Int, height: Int, columns: Int) -> String {
        let name = name(of: place)
        let size = "\(width) × \(height)"
        let room = columns - size.count - 2
        guard room >= min(8, TerminalText.width(name)) else { return TerminalText.shortened(name, to: columns) }
        return TerminalText.shortened(name, to: room) + "  " + size
    }

    static func name(_ place: String, columns: Int) -> String {
        TerminalText.shortened(name(of: place), to: columns)
    }

    static func failure(_ error: LoadError, columns: Int) -> String {
        let failure = Report.Digest.Failure(error)
        return TerminalText.shortened(TerminalText.safe("failed: \(failure)"), to: columns)
    }

    /// Returns the last component of a path or URL; for a URL without one, its host.
    private static func name(of place: String) -> String {
        var name = String(place.prefix(2000))
        if InfoCommand.isURL(place) {
            guard let url = try? ResourceURL(place) else { return ConsoleReporter.shown(place) }
            if url.scheme == "data" { return "data:" }
            name = String(url.path)
        }
        let last = name.split(separator: "/").last.map(String.init) ?? ""
        guard InfoCommand.isURL(place) else { return TerminalText.safe(last.isEmpty ? name : last) }
        let decoded = PercentEncoding.decoded(last)
        return TerminalText.safe(decoded.isEmpty ? (try? ResourceURL(place))?.origin?.host ?? name : decoded)
    }
}
