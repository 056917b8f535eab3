/// How soon a load is wanted. A job takes the highest priority of those who wait for it.
public enum LoadPriority: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    /// What may never be needed: prefetching.
    case veryLow
    case low
    case normal
    case high
    /// What somebody looks at now.
    case veryHigh

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}
