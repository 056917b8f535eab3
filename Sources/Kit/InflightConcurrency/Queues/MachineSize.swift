internal import CInflightConcurrency

/// How much of a machine this process may use.
public enum MachineSize {
    /// Processors that this process may run on, 1 or more.
    public static let processors = max(1, Int(inflight_processor_count()))
}
