// A manager and its tasks in one isolation domain. Every method enters the domain, and runs callbacks after leaving it.
// So a callback may call a method at once, from any thread.

import Dispatch
import InflightPatterns

final class Downloads: Sendable {
    let domain = IsolationDomain("downloads")
    private let running: Isolated<[String]>
    private let onChange: @Sendable (Downloads, [String]) -> Void

    init(onChange: @escaping @Sendable (Downloads, [String]) -> Void) {
        running = Isolated([], in: domain)
        self.onChange = onChange
    }

    func start(_ name: String) -> Download {
        domain.enter { deferred in
            running.value.append(name)
            tellChange(&deferred)
        }
        return Download(name, of: self)
    }

    var names: [String] { domain.enter { _ in running.value } }

    /// Removes a download. Call it inside the domain, as its parameter indicates and the check enforces.
    fileprivate func remove(_ name: String, _ deferred: inout DeferredActions) {
        domain.checkInside()
        running.value.removeAll { $0 == name }
        tellChange(&deferred)
    }

    private func tellChange(_ deferred: inout DeferredActions) {
        let names = running.value
        deferred.append { self.onChange(self, names) }
    }
}

final class Download: Sendable {
    private let name: String
    private let downloads: Downloads
    private let isStopped: Isolated<Bool>

    init(_ name: String, of downloads: Downloads) {
        self.name = name
        self.downloads = downloads
        isStopped = Isolated(false, in: downloads.domain)
    }

    /// Stops the download once, even if several threads call this at the same time.
    func stop() {
        downloads.domain.enter { deferred in
            if isStopped.value { return }
            isStopped.value = true
            downloads.remove(name, &deferred)
        }
    }
}

// The callback calls the object that called it, without a deadlock.
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
