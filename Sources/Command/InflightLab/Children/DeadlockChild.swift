internal import Dispatch
internal import Foundation

/// Two ways in which the main queue comes to wait for itself.
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

    /// Does the same in two steps, undetected: the main queue waits for a semaphore that only it would signal.
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
    /// Serves the main queue forever. Call it on the main thread, which stays: `dispatchMain()` would end it and let
    /// other threads serve, and the system's information on a process that comes from its first thread would be lost.
    package static func serve() -> Never {
        while true { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
    }
}
