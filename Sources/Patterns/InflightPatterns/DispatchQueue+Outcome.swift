internal import Dispatch

extension DispatchQueue {
    /// Returns the outcome of `body`, run on this queue. `sync` supports neither typed errors nor `sending` results.
    func outcome<Output, Failure: Error>(
        flags: DispatchWorkItemFlags = [], _ body: () throws(Failure) -> sending Output
    ) -> sending Result<Output, Failure> {
        // Written inside `sync`, which returns before it is read. `body` returns each outcome as `sending`.
        nonisolated(unsafe) var result: Result<Output, Failure>?
        sync(flags: flags) {
            do throws(Failure) { unsafe result = .success(try body()) } catch { unsafe result = .failure(error) }
        }
        guard let given = unsafe result else { preconditionFailure("sync returned before its work ran") }
        // Not used by other code: `sync` has returned.
        nonisolated(unsafe) let sent = given
        return unsafe sent
    }
}
