internal import InflightCore

/// What the event loop knows of one origin that exchanges are under way with.
final class Site {
    let origin: Origin
    /// Exchanges that have not ended.
    var active = 0
    /// Those of them whose request goes, or went, over a connection.
    var connected = 0
    /// When one of them was connected last: until then, others may have waited for their turn.
    var busyUntil: Int64 = 0

    init(origin: Origin) {
        self.origin = origin
    }
}
