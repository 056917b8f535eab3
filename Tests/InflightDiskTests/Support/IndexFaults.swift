import CDiskFaults
import InflightDisk

/// SQLite's own files, with one or many failing operations.
// Unchecked: the object behind the pointer has its own lock. Safe: the pointer does not escape this object.
@safe final class IndexFaults: @unchecked Sendable {
    enum Fault: CaseIterable {
        case inputOutput
        /// Half of the bytes are read or written, then the operation fails.
        case short
        case noSpace
        /// The operation reports success but has no effect, as in a power cut.
        case lost

        fileprivate var code: disk_fault {
            switch self {
            case .inputOutput: DISK_FAULT_INPUT_OUTPUT
            case .short: DISK_FAULT_SHORT
            case .noSpace: DISK_FAULT_NO_SPACE
            case .lost: DISK_FAULT_LOST
            }
        }
    }

    private let faults: OpaquePointer

    init() {
        guard let made = unsafe disk_faults_make() else { preconditionFailure("SQLite rejected the file system") }
        unsafe faults = made
    }

    deinit {
        unsafe disk_faults_free(faults)
    }

    /// For ``DiskStore/Configuration/indexFileSystem``.
    var name: String { unsafe String(cString: disk_faults_name(faults)) }

    /// Makes operation number `first` fail, counted from 1 from now on, and all after it if it `stays`.
    func fail(_ fault: Fault, first: Int, stays: Bool = false) {
        unsafe disk_faults_plan(faults, fault.code, Int64(first), stays)
    }

    func heal() {
        unsafe disk_faults_plan(faults, DISK_FAULT_NONE, 0, false)
    }

    var hasStruck: Bool { unsafe disk_faults_has_struck(faults) }
    /// The operation that failed first.
    var struck: String { unsafe String(cString: disk_faults_struck(faults)) }
    var calls: Int { Int(unsafe disk_faults_calls(faults)) }
}
