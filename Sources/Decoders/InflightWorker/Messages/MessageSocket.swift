internal import CInflightWorker
internal import Glibc
internal import InflightConcurrency

/// One end of a pair of sockets that preserve message boundaries, between a program and its decoder.
///
/// Any thread may send; one at a time may receive.
package final class MessageSocket: Sendable {
    package let descriptor: Descriptor

    package init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
    }

    /// Returns both ends, or `nil` if the process has no more descriptors.
    package static func pair() -> (MessageSocket, MessageSocket)? {
        var (mine, theirs): (Int32, Int32) = (-1, -1)
        guard unsafe inflight_socket_pair(&mine, &theirs) == 0 else { return nil }
        return (MessageSocket(Descriptor(mine)), MessageSocket(Descriptor(theirs)))
    }

    package enum Sent {
        /// The other side will receive the message if it still exists.
        case sent
        /// The other side has too many messages or descriptors to receive. The message was not sent.
        case full
        /// The other side has closed the socket.
        case end
    }

    /// Sends a message. If there is no room for it, waits up to `milliseconds`.
    package func send(_ message: [UInt8], _ shared: Descriptor? = nil, within milliseconds: Int) -> Sent {
        defer { withExtendedLifetime(shared) {} }
        let status = unsafe message.withUnsafeBytes { bytes in
            unsafe inflight_send(
                descriptor.number, bytes.baseAddress!, bytes.count, shared?.number ?? -1, Int32(clamping: milliseconds))
        }
        return status == 0 ? .sent : status == -EAGAIN ? .full : .end
    }

    /// Sends a message to a side that receives in time.
    ///
    /// - Returns: Whether the other side will receive it if it still exists; `false` if there was no room for a minute.
    package func send(_ message: [UInt8], _ shared: Descriptor? = nil) -> Bool {
        let clock = SystemClock()
        let deadline = clock.now() + .seconds(60)
        while true {
            switch send(message, shared, within: 1000) {
            case .sent: return true
            case .end: return false
            case .full: if clock.now() >= deadline { return false }
            }
        }
    }

    package enum Received {
        case message([UInt8], Descriptor?)
        /// The other side has closed the socket.
        case end
        /// The message is too long, or receiving failed.
        case broken
    }

    /// Waits for the next message.
    package func receive(upTo count: Int) -> Received {
        var shared: Int32 = -1
        var received = 0
        let message = unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, length in
            received = unsafe inflight_receive(descriptor.number, bytes.baseAddress!, count, &shared)
            length = max(0, received)
        }
        let brought = shared >= 0 ? Descriptor(shared) : nil
        if received < 0 { return .broken }
        return received == 0 ? .end : .message(message, brought)
    }

    /// Waits up to `milliseconds`. Returns whether a message has arrived or the other side has closed the socket.
    package func isReadable(within milliseconds: Int) -> Bool {
        inflight_wait_readable(descriptor.number, Int32(clamping: milliseconds)) != 0
    }
}
