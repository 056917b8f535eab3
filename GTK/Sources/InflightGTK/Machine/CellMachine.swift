package import InflightCore

/// Where a cell is, as somebody looked.
package enum Nearness: Hashable, Sendable {
    case visible
    /// Likely to be seen next.
    case near
    case away
}

/// What a place on the screen decides, as a value: it is told what happened, changes its state, and answers what is to be
/// done. No widget, no loader, no time.
///
///     empty ──bound──▶ waiting ──looked: visible, near──▶ loading ──loaded──▶ loaded
///       ▲                │  ▲                               │  │
///       │      in memory │  └────────looked: away───────────┘  └──failed──▶ failed ──retried──▶ loading
///       └──unbound       ▼
///                      loaded
///
/// Being bound is no reason to load: a list binds several times as many rows as are seen.
package struct CellMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case empty, waiting, loading, loaded, failed
    }

    package struct Actions: Hashable, Sendable {
        /// Begin the load, as urgently.
        package var begins: LoadPriority?
        /// The load that is under way is wanted as urgently.
        package var turns: LoadPriority?
        /// Stop the load that is under way.
        package var cancels = false
        /// Have somebody look where the cell is, once it has its place.
        package var looks = false
        /// Wait a moment under this number, then say so.
        package var waitsToSpin: Int?
        /// Show that something is under way, or do not.
        package var spins: Bool?

        package init() {}
    }

    package private(set) var phase = Phase.empty
    /// Unknown from the moment in which it was bound until somebody has looked.
    package private(set) var nearness: Nearness?
    package private(set) var spins = false
    /// The number of the latest load, by which late answers are known.
    private var latest = 0
    /// What is begun from now on goes by these.
    package var priorities: Priorities

    package struct Priorities: Hashable, Sendable {
        package var visible: LoadPriority
        package var near: LoadPriority
        /// None: what is away is not loaded.
        package var away: LoadPriority?

        package init(visible: LoadPriority = .high, near: LoadPriority = .low, away: LoadPriority? = nil) {
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
        // Also where the picture is there: what moves is to move only where it is seen.
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

    /// The picture that is shown was made for another size.
    package mutating func outgrown() -> Actions {
        guard phase == .loaded || phase == .loading, let nearness, let priority = priority(nearness) else {
            return Actions()
        }
        let old = leave()
        var actions = begin(priority)
        actions.cancels = old.cancels
        // Something is shown already.
        actions.waitsToSpin = nil
        return actions
    }

    package mutating func retried() -> Actions {
        guard phase == .failed else { return Actions() }
        return begin(priority(nearness ?? .visible) ?? priorities.visible)
    }

    package mutating func ended(hasPicture: Bool) -> Actions {
        guard phase == .loading else { return Actions() }
        var actions = Actions()
        if spins { actions.spins = false }
        spins = false
        phase = hasPicture ? .loaded : .failed
        return actions
    }

    /// The moment that `number` stood for has passed.
    package mutating func spinnerDue(_ number: Int) -> Actions {
        guard phase == .loading, number == latest, !spins else { return Actions() }
        spins = true
        var actions = Actions()
        actions.spins = true
        return actions
    }

    private func priority(_ nearness: Nearness) -> LoadPriority? {
        switch nearness {
        case .visible: priorities.visible
        case .near: priorities.near
        case .away: priorities.away
        }
    }

    private mutating func begin(_ priority: LoadPriority) -> Actions {
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
