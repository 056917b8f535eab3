internal import Dispatch
internal import Foundation

/// Two ways in which the main queue comes to wait for itself.
enum DeadlockChild {
    static let track = "main queue"

    /// `main.sync` from the main queue: the call waits for the queue, and the queue for the call.
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

    /// The same in two steps, which nothing notices: the main queue waits for a semaphore that only it would signal.
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

/// The thread that the process began with, given to the main queue.
package enum MainThread {
    /// Serves the main queue for ever. Called on the main thread, which stays: `dispatchMain()` would end it and let
    /// other threads serve, and with it goes what the system tells of a process by its first thread.
    package static func serve() -> Never {
        while true { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
    }
}
