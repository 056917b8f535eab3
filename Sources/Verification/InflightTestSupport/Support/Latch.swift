internal import Glibc

/// A latch that blocks a thread until another one passes it a value.
// Safe: the pointers do not escape the object, and live exactly as long as the latch.
// Unchecked: `value` is accessed only with the mutex held.
@safe final class Latch<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value?

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe changed.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func open(with value: Value) {
        unsafe pthread_mutex_lock(mutex)
        self.value = value
        unsafe pthread_cond_broadcast(changed)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for a value and removes it, so that the next call waits for the next one.
    func take() -> Value {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let value {
                self.value = nil
                return value
            }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }

    func wait() -> Value {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let value { return value }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }
}
