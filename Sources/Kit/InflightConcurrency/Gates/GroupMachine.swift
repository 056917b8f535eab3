/// The state machine of a group: when all that entered has left.
package struct GroupMachine: Sendable {
    package private(set) var count = 0
    package private(set) var isSealed = false
    package private(set) var hasEnded = false

    package init() {}

    /// - Returns: Whether the group had not ended yet.
    package mutating func entered() -> Bool {
        if hasEnded { return false }
        count += 1
        return true
    }

    /// - Returns: Whether this ended the group.
    package mutating func left() -> Bool {
        precondition(count > 0, "more calls of leave() than of enter()")
        count -= 1
        return end()
    }

    /// - Returns: Whether this ended the group.
    package mutating func sealed() -> Bool {
        isSealed = true
        return end()
    }

    private mutating func end() -> Bool {
        guard isSealed, count == 0, !hasEnded else { return false }
        hasEnded = true
        return true
    }
}
