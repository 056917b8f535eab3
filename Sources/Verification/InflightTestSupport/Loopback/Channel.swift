internal import Glibc
internal import InflightConcurrency

/// The reason for which a connection's thread stops its work.
enum Interruption: Error {
    /// The peer closed or reset the connection.
    case peer
    /// The server stops.
    case stopped
    /// The script closes the connection.
    case close
    /// The script resets the connection.
    case reset
    /// The input is not HTTP.
    case malformed(String)
    case handshakeFailed(String)
}

/// One connection's bytes, in plain or through TLS. Confined to the connection's thread, which it blocks. Every wait
/// ends when the server stops or the peer closes.
final class Channel {
    let descriptor: Int32
    /// A descriptor that becomes readable to wake the thread.
    private let wake: Int32
    private let isStopping: () -> Bool
    private var session: TLSSession?
    private let clock = SystemClock()
    /// The buffer for received bytes.
    private var room = [UInt8](repeating: 0, count: 16 * 1024)

    init(descriptor: Int32, wake: Int32, isStopping: @escaping () -> Bool) {
        self.descriptor = descriptor
        self.wake = wake
        self.isStopping = isStopping
    }

    /// Ends the connection, with a reset if `reset` is true and with an orderly close otherwise.
    func close(reset: Bool, farewell: Bool) {
        if reset {
            awaitAcknowledgement()
            Socket.resetOnClose(descriptor)
        } else {
            if farewell { session?.sendCloseNotify() }
            // Unread bytes would turn the orderly close into a reset.
            var rest = [UInt8](repeating: 0, count: 4096)
            while unsafe recv(descriptor, &rest, rest.count, 0) > 0 {}
        }
        session = nil
        Glibc.close(descriptor)
        Glibc.close(wake)
    }

    /// Performs the TLS handshake.
    func startTLS(_ identity: TLSIdentity) throws(Interruption) {
        guard let session = TLSSession(identity, descriptor: descriptor) else {
            throw .handshakeFailed(TLSSession.lastFailure)
        }
        while true {
            switch session.handshake() {
            case .done:
                self.session = session
                return
            case .wantsRead: try waitReadable()
            case .wantsWrite: try waitWritable()
            case .ended: throw .peer
            case .failed: throw .handshakeFailed(TLSSession.lastFailure)
            }
        }
    }

    /// Appends the next bytes to `buffer`. Returns `false` at the connection's end.
    func read(into buffer: inout [UInt8]) throws(Interruption) -> Bool {
        while true {
            let outcome = unsafe room.withUnsafeMutableBytes { unsafe receive($0) }
            switch outcome {
            case .done(let count):
                // Only bulk calls of the standard library, because they are fast in unoptimised builds too.
                unsafe room.withUnsafeBufferPointer { bytes in
                    unsafe buffer.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[..<count]))
                }
                return true
            case .wantsRead: try waitReadable()
            case .wantsWrite: try waitWritable()
            case .ended: return false
            case .failed: throw .peer
            }
        }
    }

    /// Sends all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer) throws(Interruption) {
        var sent = 0
        while sent < bytes.count {
            switch unsafe send(UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
            case .done(let count): sent += count
            case .wantsRead: try waitReadable()
            case .wantsWrite: try waitWritable()
            case .ended, .failed: throw .peer
            }
            if isStopping() { throw .stopped }
        }
    }

    func write(_ bytes: [UInt8]) throws(Interruption) {
        try unsafe bytes.withUnsafeBufferPointer { (memory: UnsafeBufferPointer<UInt8>) throws(Interruption) in
            try unsafe write(UnsafeRawBufferPointer(memory))
        }
    }

    /// Blocks until `isDone`, which is checked after each wake, or until `deadline`.
    func wait(until deadline: MonotonicTime?, _ isDone: () -> Bool) throws(Interruption) {
        while !isDone() {
            if let deadline, deadline <= clock.now() { return }
            try pause(events: 0, until: deadline, mindsPeer: true)
        }
    }

    private func waitReadable() throws(Interruption) {
        try pause(events: Int16(POLLIN), until: nil, mindsPeer: false)
    }

    private func waitWritable() throws(Interruption) {
        try pause(events: Int16(POLLOUT), until: nil, mindsPeer: true)
    }

    private func pause(events: Int16, until deadline: MonotonicTime?, mindsPeer: Bool) throws(Interruption) {
        if isStopping() { throw .stopped }
        // POLLRDHUP is reported even if no thread reads and unread bytes remain.
        let hangup = Int16(0x2000)
        var watched = [
            pollfd(fd: descriptor, events: events | (mindsPeer ? hangup : 0), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        let left = deadline.map { Int32(clamping: ($0 - clock.now()).saturatedNanoseconds / 1_000_000 + 1) } ?? -1
        _ = unsafe poll(&watched, nfds_t(watched.count), deadline == nil ? -1 : max(0, left))
        if watched[1].revents != 0 { ServerCore.drain(wake) }
        if isStopping() { throw .stopped }
        if mindsPeer, watched[0].revents & (hangup | Int16(POLLHUP) | Int16(POLLERR)) != 0 { throw .peer }
    }

    private func receive(_ room: UnsafeMutableRawBufferPointer) -> TLSSession.Outcome {
        if let session { return unsafe session.read(into: room) }
        let count = unsafe recv(descriptor, room.baseAddress, room.count, 0)
        if count > 0 { return .done(count) }
        if count == 0 { return .ended }
        return errno == EAGAIN || errno == EINTR ? .wantsRead : .failed
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> TLSSession.Outcome {
        if let session { return unsafe session.write(bytes) }
        let count = unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return .done(count) }
        return errno == EAGAIN || errno == EINTR ? .wantsWrite : .failed
    }

    /// Waits up to two seconds until the peer's system has acknowledged everything, because a reset discards the rest.
    private func awaitAcknowledgement() {
        for _ in 0..<2000 where Socket.unacknowledgedBytes(descriptor) > 0 && !isStopping() {
            usleep(1000)
        }
    }
}
