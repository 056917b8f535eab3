/// A fixed few locks shared by many small objects, so that none of them needs one of its own.
///
/// Only for short sections that call nothing unknown and take no other lock of the same stripes.
package enum LockStripes {
    package final class Stripe: Sendable {
        package let lock = Lock()
    }

    private static let stripes = (0..<64).map { _ in Stripe() }

    /// The lock of `object`: the same for as long as it lives.
    package static func stripe(for object: AnyObject) -> Stripe {
        // Objects are at least 16 bytes apart; the bits above those tell neighbours apart.
        let address = UInt(bitPattern: ObjectIdentifier(object).hashValue)
        return stripes[Int((address >> 4 ^ address >> 10) & 63)]
    }
}
