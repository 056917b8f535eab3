/// A fixed set of locks that many small objects share, so that none of them needs its own.
///
/// Only for short sections that call no foreign code and take no other of these locks.
package enum LockStripes {
    package final class Stripe: Sendable {
        package let lock = Lock()
    }

    private static let stripes = (0..<64).map { _ in Stripe() }

    /// Returns the stripe for `object`, the same for as long as the object lives.
    package static func stripe(for object: AnyObject) -> Stripe {
        // Objects are at least 16 bytes apart, so the bits above those distinguish neighbours.
        let address = UInt(bitPattern: ObjectIdentifier(object))
        return stripes[Int((address >> 4 ^ address >> 10) & 63)]
    }
}
