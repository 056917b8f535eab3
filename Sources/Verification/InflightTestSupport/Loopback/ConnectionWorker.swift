internal import InflightConcurrency
internal import InflightCore

/// The loop of one connection's thread, which reads requests and responds until an end.
// Unchecked: the acceptor creates it, and then only the connection's own thread uses it.
final class ConnectionWorker: @unchecked Sendable {
    private let core: ServerCore
    private let connection: Int
    private let channel: Channel
    private var reader = RequestReader()
    private var ordinal = 0

    init(core: ServerCore, connection: Int, descriptor: Int32, wake: Int32) {
        self.core = core
        self.connection = connection
        channel = Channel(descriptor: descriptor, wake: wake) { core.state.withLock { $0.isStopping } }
    }

    func run() {
        var ending = Interruption.close
        do throws(Interruption) {
            if core.configuration.greeting == .silence { try channel.wait(until: nil) { false } }
            if let identity = core.identity { try channel.startTLS(identity) }
            while try serveOne() {}
        } catch {
            ending = error
        }
        end(ending)
    }

    private func end(_ ending: Interruption) {
        var byPeer = false
        var reset = false
        var farewell = false
        switch ending {
        case .peer: byPeer = true
        case .stopped: farewell = true
        case .close: break
        case .reset: reset = true
        case .malformed(let why):
            let text = "\(why)\n"
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n"
            try? channel.write(Array((head + text).utf8))
        case .handshakeFailed(let why):
            core.change { [connection] state, time in state.note(.handshakeFailed(why), connection, at: time) }
        }
        // The connection leaves the table first, so that no thread writes to the descriptors that are closed here.
        core.change { [connection, byPeer] state, time in
            state.connectionClosed(connection, byPeer: byPeer, at: time)
        }
        channel.close(reset: reset, farewell: farewell)
    }

    /// Serves one request. Returns whether another one may follow.
    private func serveOne() throws(Interruption) -> Bool {
        guard let message = try reader.next(from: channel) else { throw .peer }
        ordinal += 1
        let request = LoopbackServer.RecordedRequest(
            method: message.method, target: message.target, fields: message.fields, body: message.body,
            connection: connection, ordinal: ordinal, time: core.now())
        let response: LoopbackServer.Response
        switch core.change({ state, time in state.requestReceived(request, at: time) }) {
        case .response(let fixed): response = fixed
        case .ask(let script): response = script(request)
        }
        let keepsAlive = message.keepsAlive && !response.closesConnection
        var writer = ResponseWriter(response, isHead: message.method == "HEAD", keepsAlive: keepsAlive)
        try writer.send(to: channel) { (action) throws(Interruption) in try act(action) }
        core.change { [connection] state, time in state.answered(connection, at: time) }
        guard writer.keepsAlive else { throw .close }
        return true
    }

    private func act(_ action: LoopbackServer.Response.Action) throws(Interruption) {
        switch action {
        case .close: throw .close
        case .reset: throw .reset
        case .delay(let time): try channel.wait(until: core.now() + time) { false }
        case .hold(let name):
            let passes = core.change { [connection] state, time in state.holdReached(name, connection, at: time) }
            if passes { return }
            try channel.wait(until: nil) { [core, connection] in
                core.state.withLock { $0.connections[connection]?.isReleased ?? true }
            }
        }
    }
}
