internal import CInflightLab
internal import Dispatch
internal import Glibc
internal import InflightConcurrency

/// The code that runs in a child process: the parts of experiments that are too dangerous for the command's process.
package enum LabChild {
    /// - Parameter arguments: The parent's process ID, and the arguments of the part.
    /// - Returns: The exit status; some parts never return.
    package static func run(_ name: String, _ arguments: [String]) -> Int32 {
        guard let parent = arguments.first.flatMap(Int32.init) else { return 64 }
        guard lab_prepare_child(parent) == 0 else { return 1 }
        let recorder = Recorder(tell: tell)
        switch name {
        case "race": RaceChild.run(recorder)
        case "string":
            guard let setup = arguments.dropFirst().first.flatMap(StringSetup.init(rawValue:)) else { return 64 }
            setup.run(recorder)
        case "main-sync": DeadlockChild.syncOnMain(recorder)
        case "main-wait": DeadlockChild.waitOnMain(recorder)
        case "inversion": InversionChild.run(recorder, hasThird: false)
        case "inversion-three": InversionChild.run(recorder, hasThird: true)
        default: return 64
        }
        return 0
    }

    /// Reports to the parent at once, because the process may crash next.
    private static func tell(_ event: RecordedEvent) {
        var rest = Array(event.line.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
            // The parent has closed its end of the pipe.
            guard count > 0 else { _exit(1) }
            rest = rest.dropFirst(count)
        }
    }
}
