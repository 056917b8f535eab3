internal import Dispatch
internal import InflightConcurrency
internal import InflightPatterns

/// Ten setups of queues in which two tasks write into the same two strings: an unguarded and a guarded one.
package enum StringSetup: String, CaseIterable, Sendable {
    case globalSync, globalAsync, serialSync, serialAsync, concurrentSync, concurrentAsync
    case twoSerial, twoQualities, later, pauses

    package var title: String {
        switch self {
        case .globalSync: "global queue, sync"
        case .globalAsync: "global queue, async"
        case .serialSync: "serial queue, sync"
        case .serialAsync: "serial queue, async"
        case .concurrentSync: "concurrent queue, sync"
        case .concurrentAsync: "concurrent queue, async"
        case .twoSerial: "two serial queues, async"
        case .twoQualities: "two global queues, async"
        case .later: "two serial queues, 60 ms apart"
        case .pauses: "concurrent queue, with pauses"
        }
    }

    /// Whether the queues guarantee that the two tasks never write at the same time.
    package var isExclusive: Bool {
        switch self {
        case .globalSync, .serialSync, .serialAsync, .concurrentSync: true
        case .globalAsync, .concurrentAsync, .twoSerial, .twoQualities, .later, .pauses: false
        }
    }

    /// The number of letters that each of the two writes.
    package var letters: Int { self == .pauses ? 20 : Self.rounds * Self.lettersInRound }

    private static let rounds = 6
    private static let lettersInRound = 2000

    package static let writers = ["A", "B"]

    /// Runs both writers and counts the results. Call it in a child process: without mutual exclusion, the writers may
    /// corrupt the memory of the unguarded string.
    func run(_ recorder: Recorder) {
        let strings = Strings()
        let group = DispatchGroup()
        for (queue, (letter, mode)) in zip(queues, zip(Self.writers, modes)) {
            let write: @Sendable () -> Void = {
                recorder.span(letter, "writes \(letter)") {
                    if self == .pauses {
                        strings.writeWithPauses(letter, letters)
                    } else {
                        for _ in 0..<Self.rounds { strings.write(letter, Self.lettersInRound) }
                    }
                }
            }
            switch mode {
            case .sync: queue.sync(execute: write)
            case .async: queue.async(group: group, execute: write)
            case .later:
                group.enter()
                queue.asyncAfter(deadline: .now() + .milliseconds(60)) {
                    write()
                    group.leave()
                }
            }
        }
        group.wait()
        strings.count(recorder)
    }

    private enum Mode { case sync, async, later }

    private var modes: [Mode] {
        switch self {
        case .globalSync, .serialSync, .concurrentSync: [.sync, .sync]
        case .later: [.async, .later]
        default: [.async, .async]
        }
    }

    private var queues: [DispatchQueue] {
        switch self {
        case .globalSync, .globalAsync: [.global(), .global()]
        case .serialSync, .serialAsync:
            Array(repeating: DispatchQueue(label: "serial"), count: 2)
        case .concurrentSync, .concurrentAsync, .pauses:
            Array(repeating: DispatchQueue(label: "concurrent", attributes: .concurrent), count: 2)
        case .twoSerial, .later: [DispatchQueue(label: "first"), DispatchQueue(label: "second")]
        case .twoQualities: [.global(qos: .userInitiated), .global(qos: .utility)]
        }
    }
}

/// The unguarded string (`plain`) and the guarded one.
// Unchecked: `plain` is raced on purpose, in a process that is discarded afterwards.
private final class Strings: @unchecked Sendable {
    private var plain = ""
    private let guarded = QueueGuarded("")

    func write(_ letter: String, _ count: Int) {
        for _ in 0..<count { plain.append(letter) }
        for _ in 0..<count { append(letter) }
    }

    func writeWithPauses(_ letter: String, _ count: Int) {
        let stage = Stage(unit: .milliseconds(1))
        for _ in 0..<count {
            write(letter, 1)
            stage.rest()
        }
    }

    func count(_ recorder: Recorder) {
        let guarded = guarded.read { $0 }
        // The guarded value is reported first, because reading the other string may crash.
        recorder.count("guarded", guarded.utf8.count)
        recorder.count("plain", plain.utf8.count)
        recorder.count("match", plain == guarded ? 1 : 0)
    }

    private func append(_ letter: String) {
        guarded.write { $0.append(letter) }
    }
}
