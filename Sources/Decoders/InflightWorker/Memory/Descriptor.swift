internal import CInflightWorker
internal import Glibc

/// A file descriptor that is closed with its last reference.
package final class Descriptor: Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// Closes all descriptors of the process from `first` on.
    package static func closeAll(from first: Int32) { inflight_close_from(first) }

    deinit {
        close(number)
    }
}
