extension Experiment {
    /// All experiments, in teaching order.
    package static let all: [Experiment] = [
        qualities, syncAndAsync, serial, priorities, concurrent, inactive, workItems, heartbeat, string, guards, race,
        deadlock, inversion, inversionOfThree, picture, groups, operations, cells,
    ]

    package static func named(_ name: String) -> Experiment? { all.first { $0.name == name } }
}
