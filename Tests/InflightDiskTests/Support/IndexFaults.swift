import CDiskFaults
import InflightDisk

/// SQLite's own files, one operation of which fails, or many.
// Unchecked: what is behind the pointer has a lock of its own. Safe: the pointer never leaves.
@safe final class IndexFaults: @unchecked Sendable {
    enum Fault: CaseIterable {
        case inputOutput
        /// Half of it is read or written, then it fails.
        case short
        case noSpace
        /// It says that it was done, and was not: what a power cut does.
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
        guard let made = unsafe disk_faults_make() else { preconditionFailure("SQLite takes no more ways to files") }
        unsafe faults = made
    }

    deinit {
        unsafe disk_faults_free(faults)
    }

    /// For ``DiskStore/Configuration/indexFileSystem``.
    var name: String { unsafe String(cString: disk_faults_name(faults)) }

    /// Lets operation number `first` fail, counted from 1 and from now, and where it `stays`, all after it.
    func fail(_ fault: Fault, first: Int, stays: Bool = false) {
        unsafe disk_faults_plan(faults, fault.code, Int64(first), stays)
    }

    func heal() {
        unsafe disk_faults_plan(faults, DISK_FAULT_NONE, 0, false)
    }

    var hasStruck: Bool { unsafe disk_faults_has_struck(faults) }
    /// What has failed first.
    var struck: String { unsafe String(cString: disk_faults_struck(faults)) }
    var calls: Int { Int(unsafe disk_faults_calls(faults)) }
}
