// A manager and its tasks in one area: every way in enters it, every way out is taken when it has been left. So whoever is
// told something may call back in at once, from any thread.

import Dispatch
import InflightConcurrency

final class Downloads: Sendable {
    let area = WorkLock("downloads")
    private let running: Enclosed<[String]>
    private let onChange: @Sendable (Downloads, [String]) -> Void

    init(onChange: @escaping @Sendable (Downloads, [String]) -> Void) {
        running = Enclosed([], in: area)
        self.onChange = onChange
    }

    func start(_ name: String) -> Download {
        area.enter { out in
            running.value.append(name)
            tellChange(&out)
        }
        return Download(name, of: self)
    }

    var names: [String] { area.enter { _ in running.value } }

    /// To be called inside, as its parameter says and the check makes sure of.
    fileprivate func remove(_ name: String, _ out: inout WayOut) {
        area.checkInside()
        running.value.removeAll { $0 == name }
        tellChange(&out)
    }

    private func tellChange(_ out: inout WayOut) {
        let names = running.value
        out.afterLeaving { self.onChange(self, names) }
    }
}

final class Download: Sendable {
    private let name: String
    private let downloads: Downloads
    private let isStopped: Enclosed<Bool>

    init(_ name: String, of downloads: Downloads) {
        self.name = name
        self.downloads = downloads
        isStopped = Enclosed(false, in: downloads.area)
    }

    /// Stops once, however many threads call it at once.
    func stop() {
        downloads.area.enter { out in
            if isStopped.value { return }
            isStopped.value = true
            downloads.remove(name, &out)
        }
    }
}

// The callback asks the object that calls it: nothing waits for itself.
let downloads = Downloads { downloads, names in
    print("running: \(names), and asked from the callback: \(downloads.names.count)")
}
let (cat, dog) = (downloads.start("cat"), downloads.start("dog"))
DispatchQueue.concurrentPerform(iterations: 4) { _ in cat.stop() }
dog.stop()

// Prints:
// running: ["cat"], and asked from the callback: 1
// running: ["cat", "dog"], and asked from the callback: 2
// running: ["dog"], and asked from the callback: 1
// running: [], and asked from the callback: 0
