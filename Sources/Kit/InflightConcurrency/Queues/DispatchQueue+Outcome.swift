internal import Dispatch

extension DispatchQueue {
    /// What `body` gives on this queue: `sync` does not carry typed errors, nor what is sent.
    func outcome<Output, Failure: Error>(
        flags: DispatchWorkItemFlags = [], _ body: () throws(Failure) -> sending Output
    ) -> sending Result<Output, Failure> {
        // Written inside `sync`, which has returned before it is read; each outcome is sent out by `body`.
        nonisolated(unsafe) var result: Result<Output, Failure>?
        sync(flags: flags) {
            do throws(Failure) { unsafe result = .success(try body()) } catch { unsafe result = .failure(error) }
        }
        guard let given = unsafe result else { preconditionFailure("sync returns when its work has run") }
        // As above.
        nonisolated(unsafe) let sent = given
        return unsafe sent
    }
}
