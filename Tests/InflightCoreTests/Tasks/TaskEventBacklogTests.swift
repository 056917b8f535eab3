import InflightConcurrency
import Testing

@testable import InflightCore

/// Each row has the arriving events on the left and their outcome on the right.
///
/// `p5` is progress with 5 bytes, `v5` a preview with detail 5, `s5` a stale image. `>` delivers the next event, `f`
/// takes a fallback, `d` drops a delivery; at the end, all events are delivered. On the right, in order: delivered
/// events; replaced ones in parentheses; dropped ones in brackets; refused ones with a leading `!`.
@Suite("Pending events of a task", .timeLimit(.minutes(10)))
struct TaskEventBacklogTests {
    private static let pixels = FakeCodec.pixels(width: 1, height: 1)

    private static func preview(_ detail: Int) -> BoxedPreview {
        BoxedPreview(
            ImagePreview(
                pixels: pixels, info: ImageInfo(format: .png, storedWidth: 1, storedHeight: 1), receivedBytes: 1,
                detail: detail, coversAll: true))
    }

    private static func stale(_ number: Int) -> JobResult {
        JobResult(.failure(LoadError(.shutDown, stage: .fetch, message: "\(number)")))
    }

    private static func event(_ word: Substring) -> TaskEventBacklog.Event? {
        guard let number = Int(word.dropFirst()) else { return nil }
        return switch word.first {
        case "p": .progress(ImageTask.Progress(receivedBytes: Int64(number), expectedBytes: nil))
        case "v": .preview(preview(number))
        case "s": .stale(stale(number))
        default: nil
        }
    }

    private static func word(_ event: TaskEventBacklog.Event) -> String {
        switch event {
        case .progress(let progress): "p\(progress.receivedBytes)"
        case .preview(let box): "v\(box.preview.detail)"
        case .stale(let result): "s\(result.error?.message ?? "")"
        }
    }

    private static func told(_ news: inout TaskEventBacklog) -> [String] {
        var words: [String] = []
        while let event = news.popFirst() { words.append(word(event)) }
        return words
    }

    private func outcome(of arrivals: String) -> String {
        var news = TaskEventBacklog()
        var log: [String] = []
        for word in arrivals.split(separator: " ") {
            if let event = Self.event(word) {
                let (wasTaken, unneeded) = news.eventArrived(event)
                guard let unneeded else {
                    #expect(wasTaken)
                    continue
                }
                log.append(wasTaken ? "(\(Self.word(unneeded)))" : "!\(Self.word(unneeded))")
            } else if word == ">" {
                log += news.popFirst().map { [Self.word($0)] } ?? []
            } else if word == "f" {
                log += news.fallbackTaken().map { ["(\(Self.word(.preview($0))))"] } ?? []
            } else {
                var dropped = news.takeDropped()
                log.append("[" + Self.told(&dropped).joined(separator: " ") + "]")
            }
        }
        log += Self.told(&news)
        #expect(news.isEmpty)
        return log.joined(separator: " ")
    }

    @Test(
        "Newer progress replaces undelivered progress, and progress never decreases",
        arguments: [
            ("p1 p2", "p2"),
            ("p1 > p2", "p1 p2"),
            ("p2 p1", "!p1 p2"),
            ("p2 > p2", "p2 !p2"),
            ("p2 f p1", "!p1 p2"),
            ("p2 d p1 p3", "[p2] !p1 p3"),
        ])
    func progress(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "A better preview replaces an undelivered one",
        arguments: [
            ("v1 v2", "(v1) v2"),
            ("v1 > v2", "v1 v2"),
            ("v2 v1", "!v1 v2"),
            ("v2 > v2", "v2 !v2"),
            ("v2 d v2 v3", "[v2] !v2 v3"),
        ])
    func preview(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "Progress and previews are delivered in the order in which the latest of each arrived",
        arguments: [
            ("p1 v1", "p1 v1"),
            ("v1 p1", "v1 p1"),
            ("p1 v1 p2", "v1 p2"),
            ("v1 p1 v2", "(v1) p1 v2"),
            ("v1 p2 p1", "!p1 v1 p2"),
            ("v2 p1 v1", "!v1 v2 p1"),
            ("p1 v1 > p2", "p1 v1 p2"),
        ])
    func order(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "A stale image is delivered before the progress of its revalidation",
        arguments: [
            ("s1 p1", "!p1 s1"),
            ("s1 > p1", "s1 p1"),
            ("p1 s1", "s1"),
            ("s1 p2 > p1 p3", "!p2 s1 !p1 p3"),
            ("s1 s2", "(s1) s2"),
        ])
    func stale(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "A stale image discards the pending preview, and no preview follows it",
        arguments: [
            ("s1 v1", "!v1 s1"),
            ("s1 > v1", "s1 !v1"),
            ("v1 s1", "(v1) s1"),
            ("v1 p1 s1", "(v1) s1"),
            ("s1 > f v1", "s1 !v1"),
        ])
    func previewAfterStale(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "A fallback discards the pending preview and starts with its own first one",
        arguments: [
            ("v5 f v1", "(v5) v1"),
            ("v5 > f v1 f", "v5 (v1)"),
            ("p1 v5 f", "(v5) p1"),
        ])
    func fallback(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test(
        "A dropped delivery discards all pending events",
        arguments: [
            ("p1 v1 d", "[p1 v1]"),
            ("s1 d p1", "[s1] p1"),
            ("d p1", "[] p1"),
        ])
    func dropped(arrivals: String, expected: String) {
        #expect(outcome(of: arrivals) == expected)
    }

    @Test("A cancel takes all undelivered events")
    func takenAtCancel() {
        var news = TaskEventBacklog()
        _ = news.eventArrived(.preview(Self.preview(1)))
        _ = news.eventArrived(.progress(ImageTask.Progress(receivedBytes: 1, expectedBytes: nil)))
        #expect(!news.isEmpty)
        var taken = news.takeAll()
        #expect(Self.told(&taken) == ["v1", "p1"])
        #expect(news.isEmpty && Self.told(&news).isEmpty)
    }

    /// Runs all sequences of six events, and checks the rules after each step.
    @Test("The delivery rules hold for every sequence of six events")
    func exhaustive() {
        let previews = (0...6).map(Self.preview)
        let stale = Self.stale(1)
        for word in 0..<(6 * 6 * 6 * 6 * 6 * 6) {
            var news = TaskEventBacklog()
            var (rest, arrived, toldBytes, shown, hasStale, staleIsNext) = (word, Int64(0), Int64(0), 0, false, false)
            for step in 1...6 {
                switch rest % 6 {
                case 0:
                    arrived += 1
                    let progress = ImageTask.Progress(receivedBytes: arrived, expectedBytes: nil)
                    #expect(news.eventArrived(.progress(progress)).wasTaken == !staleIsNext)
                case 1:
                    let progress = ImageTask.Progress(receivedBytes: arrived - 1, expectedBytes: nil)
                    #expect(!news.eventArrived(.progress(progress)).wasTaken)
                case 2: #expect(news.eventArrived(.preview(previews[step])).wasTaken == !hasStale)
                case 3:
                    #expect(news.eventArrived(.stale(stale)).wasTaken)
                    (hasStale, staleIsNext) = (true, true)
                case 4:
                    _ = news.fallbackTaken()
                    shown = 0
                default:
                    let wasEmpty = news.isEmpty
                    let event = news.popFirst()
                    #expect((event == nil) == wasEmpty)
                    switch event {
                    case .progress(let progress):
                        #expect(progress.receivedBytes > toldBytes && !staleIsNext)
                        toldBytes = progress.receivedBytes
                    case .preview(let box):
                        #expect(box.preview.detail > shown && !hasStale)
                        shown = box.preview.detail
                    case .stale:
                        #expect(staleIsNext)
                        staleIsNext = false
                    case nil: #expect(!staleIsNext)
                    }
                }
                rest /= 6
            }
        }
    }
}
