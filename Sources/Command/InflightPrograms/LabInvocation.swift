/// What `inflight lab` asks of `inflight-lab`, which runs the experiments. The arguments that one program writes and
/// the other reads are known here alone.
package struct LabInvocation: Equatable, Sendable {
    /// The names of all experiments, in teaching order.
    package static let names = [
        "qos", "sync-async", "serial", "priorities", "concurrent", "inactive", "work-items", "heartbeat", "string",
        "guards", "race", "deadlock", "inversion", "inversion-three", "picture", "groups", "operations", "cells",
    ]

    /// The experiments, in command-line order; if empty, all of them.
    package var experiments: [String] = []
    package var list = false
    package var json = false
    /// The file for the drawing as SVG.
    package var svg: String?

    package init(experiments: [String] = [], list: Bool = false, json: Bool = false, svg: String? = nil) {
        self.experiments = experiments
        self.list = list
        self.json = json
        self.svg = svg
    }

    /// The arguments, with the version of the program that starts the lab: programs of two versions may differ in the
    /// arguments that follow.
    package func arguments(version: String) -> [String] {
        let flags = (list ? ["--list"] : []) + (json ? ["--json"] : []) + (svg.map { ["--svg", $0] } ?? [])
        return ["--for", version] + flags + experiments
    }

    /// Returns the version that the arguments name, or nil if `inflight` has not made them.
    package static func version(in arguments: [String]) -> String? {
        arguments.count > 1 && arguments[0] == "--for" ? arguments[1] : nil
    }

    /// - Parameter arguments: Those of a program of this version.
    package init?(_ arguments: [String]) {
        var rest = arguments.dropFirst(2)
        while let word = rest.popFirst() {
            switch word {
            case "--list": list = true
            case "--json": json = true
            case "--svg":
                guard let path = rest.popFirst() else { return nil }
                svg = path
            default:
                guard Self.names.contains(word) else { return nil }
                experiments.append(word)
            }
        }
    }
}
