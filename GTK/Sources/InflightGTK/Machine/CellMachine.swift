package import InflightCore

/// The position of a cell relative to the viewport at the last check.
package enum Nearness: Hashable, Sendable {
    case visible
    /// Likely to be seen next.
    case near
    case away
}

/// The state machine of one place on the screen, as a value. It takes events, changes its state and returns the actions
/// to perform. It depends on no widget, loader or clock.
///
///     empty ──bound──▶ waiting ──looked: visible, near──▶ loading ──loaded──▶ loaded
///       ▲                │  ▲                               │  │
///       │      in memory │  └────────looked: away───────────┘  └──failed──▶ failed ──retried──▶ loading
///       └──unbound       ▼
///                      loaded
///
/// Binding alone starts no load, because a list binds several times as many rows as are visible.
package struct CellMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case empty, waiting, loading, loaded, failed
    }

    package struct Actions: Hashable, Sendable {
        /// Start the load at this priority.
        package var begins: ImageRequest.Priority?
        /// Change the priority of the running load.
        package var turns: ImageRequest.Priority?
        /// Cancel the running load.
        package var cancels = false
        /// Check where the cell is, once it has been laid out.
        package var looks = false
        /// Start the spinner delay with this number, and call ``CellMachine/spinnerDue(_:)`` at its end.
        package var waitsToSpin: Int?
        /// Show or hide the spinner.
        package var spins: Bool?

        package init() {}
    }

    package private(set) var phase = Phase.empty
    /// The position at the last check, or nil if the cell has not been checked since it was bound.
    package private(set) var nearness: Nearness?
    package private(set) var spins = false
    /// The number of the latest load. A spinner delay with another number is outdated.
    private var latest = 0
    /// The priority for each position, read at every event.
    package var priorities: Priorities

    package struct Priorities: Hashable, Sendable {
        package var visible: ImageRequest.Priority
        package var near: ImageRequest.Priority
        /// If nil, cells that are away are not loaded.
        package var away: ImageRequest.Priority?

        package init(
            visible: ImageRequest.Priority = .high, near: ImageRequest.Priority = .low,
            away: ImageRequest.Priority? = nil
        ) {
            self.visible = visible
            self.near = near
            self.away = away
        }
    }

    package init(priorities: Priorities = Priorities()) {
        self.priorities = priorities
    }

    package mutating func bound(isInMemory: Bool) -> Actions {
        var actions = leave()
        phase = isInMemory ? .loaded : .waiting
        nearness = nil
        // Check the position even if the image is in memory, because an animation plays only while it is visible.
        actions.looks = true
        return actions
    }

    package mutating func unbound() -> Actions {
        let actions = leave()
        phase = .empty
        nearness = nil
        return actions
    }

    package mutating func looked(_ new: Nearness) -> Actions {
        let old = nearness
        nearness = new
        guard phase != .empty else { return Actions() }
        switch (phase, priority(new)) {
        case (.waiting, let priority?): return begin(priority)
        case (.loading, let priority?):
            var actions = Actions()
            if old != new { actions.turns = priority }
            return actions
        case (.loading, nil):
            let actions = leave()
            phase = .waiting
            return actions
        default: return Actions()
        }
    }

    /// The displayed image was made for another size.
    package mutating func outgrown() -> Actions {
        guard phase == .loaded || phase == .loading, let nearness, let priority = priority(nearness) else {
            return Actions()
        }
        let old = leave()
        var actions = begin(priority)
        actions.cancels = old.cancels
        // An image is displayed already.
        actions.waitsToSpin = nil
        return actions
    }

    package mutating func retried() -> Actions {
        guard phase == .failed else { return Actions() }
        return begin(priority(nearness ?? .visible) ?? priorities.visible)
    }

    package mutating func ended(hasImage: Bool) -> Actions {
        guard phase == .loading else { return Actions() }
        var actions = Actions()
        if spins { actions.spins = false }
        spins = false
        phase = hasImage ? .loaded : .failed
        return actions
    }

    /// The spinner delay with this number has ended.
    package mutating func spinnerDue(_ number: Int) -> Actions {
        guard phase == .loading, number == latest, !spins else { return Actions() }
        spins = true
        var actions = Actions()
        actions.spins = true
        return actions
    }

    private func priority(_ nearness: Nearness) -> ImageRequest.Priority? {
        switch nearness {
        case .visible: priorities.visible
        case .near: priorities.near
        case .away: priorities.away
        }
    }

    private mutating func begin(_ priority: ImageRequest.Priority) -> Actions {
        phase = .loading
        latest += 1
        var actions = Actions()
        actions.begins = priority
        actions.waitsToSpin = latest
        return actions
    }

    private mutating func leave() -> Actions {
        var actions = Actions()
        actions.cancels = phase == .loading
        if spins { actions.spins = false }
        spins = false
        return actions
    }
}
