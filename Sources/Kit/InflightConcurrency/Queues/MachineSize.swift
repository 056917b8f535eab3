internal import CInflightConcurrency

/// The share of the machine that this process may use.
package enum MachineSize {
    /// The number of processors that this process may run on, at least 1.
    package static let processors = max(1, Int(inflight_processor_count()))
}
