import InflightConcurrency
import InflightCore

extension DecoderConfiguration {
    /// A protection that the system enforces on a decoder process.
    public enum Protection: String, Sendable, Hashable, CaseIterable {
        /// Limits on memory, CPU time, files and descriptors (`setrlimit`), and no new privileges. Every decoder has
        /// them.
        case limits
        /// A filter of system calls. Every decoder has it.
        case seccomp
        /// No right to open, create, list or remove a file (Landlock, since Linux 5.13).
        case landlock
        /// Separate mounts, network, users and host name, and an empty root folder, so that no path names a file.
        case namespaces
    }
}

/// Decides whether a decoder without some protections is used, and which missing protections are reported.
struct ProtectionPolicy {
    let required: Set<DecoderConfiguration.Protection>
    private var reported: Set<DecoderConfiguration.Protection> = []

    init(required: Set<DecoderConfiguration.Protection>) { self.required = required }

    enum Verdict: Equatable {
        case use(reporting: Set<DecoderConfiguration.Protection>)
        case refuse(missing: Set<DecoderConfiguration.Protection>)
    }

    mutating func decoderStarted(with protections: Set<DecoderConfiguration.Protection>) -> Verdict {
        let missing = Set(DecoderConfiguration.Protection.allCases).subtracting(protections)
        let refused = missing.intersection(required)
        guard refused.isEmpty else { return .refuse(missing: refused) }
        defer { reported.formUnion(missing) }
        return .use(reporting: missing.subtracting(reported))
    }
}

/// Checks the decoders of one configuration against the protections that it requires.
package final class ProtectionCheck: Sendable {
    private let policy: Guarded<ProtectionPolicy>
    private let report: (@Sendable (Set<DecoderConfiguration.Protection>) -> Void)?

    package init(_ configuration: DecoderConfiguration) {
        policy = Guarded(ProtectionPolicy(required: configuration.requiredProtections))
        report = configuration.missingProtectionsHandler
    }

    func check(_ protections: Set<DecoderConfiguration.Protection>, of path: String) throws(LoadError) {
        switch policy.withLock({ $0.decoderStarted(with: protections) }) {
        case .use(let missing):
            if !missing.isEmpty { report?(missing) }
        case .refuse(let missing):
            let names = missing.map(\.rawValue).sorted().joined(separator: " and ")
            throw DecoderProcess.unavailable(
                path,
                "this system does not provide the required protection \(names). Enable it in the system, or do not "
                    + "require it")
        }
    }
}
