internal import CInflightSQLite

/// Locks on ranges of bytes of an open file.
///
/// They belong to the open file, not to the process, so that they also exclude two users in one process. The kernel
/// releases them when the file is closed, also after a crash.
package enum RangeLock {
    /// The kinds of locks.
    package enum Kind {
        /// Excludes exclusive locks.
        case shared
        /// Excludes all other locks.
        case exclusive
    }

    /// Acquires a lock without waiting. Returns 0, `EAGAIN` if a conflicting lock is held through another open file, or
    /// another error number.
    package static func acquire(_ kind: Kind, _ descriptor: Int32, start: Int64, count: Int64) -> Int32 {
        inflight_lock(
            descriptor, kind == .shared ? INFLIGHT_LOCK_SHARED : INFLIGHT_LOCK_EXCLUSIVE, start, count)
    }

    /// Releases a lock.
    package static func release(_ descriptor: Int32, start: Int64, count: Int64) {
        _ = inflight_lock(descriptor, INFLIGHT_LOCK_NONE, start, count)
    }

    /// Returns whether any of these bytes is locked through another open file. Also returns true on an error.
    package static func isHeld(_ descriptor: Int32, start: Int64, count: Int64) -> Bool {
        inflight_lock_is_held(descriptor, start, count)
    }
}
