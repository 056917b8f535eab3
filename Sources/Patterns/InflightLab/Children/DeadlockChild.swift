internal import Dispatch
internal import Foundation

/// Two deadlocks in which the main queue waits for itself.
enum DeadlockChild {
    static let track = "main queue"

    /// Calls `main.sync` from the main queue: the call waits for the queue, and the queue for the call.
    static func syncOnMain(_ recorder: Recorder) {
        DispatchQueue.main.async {
            let work = recorder.begin(track, "work")
            let wait = recorder.begin(track, "main.sync", .wait)
            DispatchQueue.main.sync { recorder.mark(track, "never reached") }
            wait.end()
            work.end()
        }
        MainThread.serve()
    }

    /// Causes a deadlock that libdispatch does not detect: the main queue waits for a semaphore that only it signals.
    static func waitOnMain(_ recorder: Recorder) {
        DispatchQueue.main.async {
            let work = recorder.begin(track, "work")
            let semaphore = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                recorder.span("global queue", "load") { Thread.sleep(forTimeInterval: 0.05) }
                recorder.mark("global queue", "main.async: signal")
                DispatchQueue.main.async { semaphore.signal() }
            }
            let wait = recorder.begin(track, "semaphore.wait", .wait)
            semaphore.wait()
            wait.end()
            work.end()
        }
        MainThread.serve()
    }
}

/// The first thread of the process, which serves the main queue.
package enum MainThread {
    /// Serves the main queue forever. Call it on the main thread. `dispatchMain()` would end that thread and serve the
    /// queue on other threads, but the system takes information about a process from its first thread.
    package static func serve() -> Never {
        while true { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
    }
}
