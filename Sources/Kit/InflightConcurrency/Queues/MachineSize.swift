internal import CInflightConcurrency

/// The share of the machine that this process may use.
public enum MachineSize {
    /// The number of processors that this process may run on, at least 1.
    public static let processors = max(1, Int(inflight_processor_count()))
}
