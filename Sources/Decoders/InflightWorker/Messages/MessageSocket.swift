internal import CInflightWorker

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

    /// Sends a message. Returns whether the other side will receive it if it still exists.
    package func send(_ message: [UInt8], _ shared: Descriptor? = nil) -> Bool {
        defer { withExtendedLifetime(shared) {} }
        return unsafe message.withUnsafeBytes { bytes in
            unsafe inflight_send(descriptor.number, bytes.baseAddress!, bytes.count, shared?.number ?? -1) == 0
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
