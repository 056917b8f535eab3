import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct ItemMachineTests {
    typealias Machine = ItemMachine<Int, String>

    /// Takes events in order and describes each step that follows, with whether the item counts as loading then.
    private func steps(looksUp: Bool = false, _ events: [Machine.Event]) -> [String] {
        var machine = Machine(looksUp: looksUp)
        return events.map { "\(machine.take($0)) \(machine.isLoading)" }
    }

    private static var whole: [Machine.Event] { [.loadBegan(7), .loaded(isSuccess: true), .made("file"), .named] }

    @Test("A load is made, named, published; it counts as loading until its file is written")
    func whole() {
        let expected = ["none true", "make true", "name false", "publish(\"file\") false"]
        #expect(steps(Self.whole) == expected)
        #expect(steps(looksUp: true, [.lookedUp(isFound: false)] + Self.whole) == ["load true"] + expected)
    }

    @Test("An item that fails, or of which nothing is written, is reported")
    func reports() {
        #expect(steps([.refused]) == ["report false"])
        #expect(steps(looksUp: true, [.refused]) == ["report false"])
        #expect(steps(looksUp: true, [.lookedUp(isFound: true)]) == ["skip false"])
        #expect(steps([.loadBegan(7), .loaded(isSuccess: false)]).last == "report false")
        #expect(steps([.loadBegan(7), .loaded(isSuccess: true), .made(nil)]).last == "report false")
    }

    @Test(
        "The end of the run cancels a running load alone; what is being made or named goes on",
        arguments: [(0, "abandon(nil) false"), (1, "abandon(Optional(7)) false"), (2, "none true"), (3, "none false")])
    func runEnds(after count: Int, _ expected: String) {
        #expect(steps(Self.whole.prefix(count) + [.runEnded]).last == expected)
        let isOver = count < 2
        for (step, event) in zip(steps([] + Self.whole.prefix(count) + [.runEnded] + Self.whole.dropFirst(count)), 0...)
        where event > count {
            #expect((step == "none false") == isOver)
        }
    }

    @Test("What is cancelled while it is being made is abandoned, and an ended item ignores what comes later")
    func ended() {
        let making: [Machine.Event] = [.loadBegan(7), .loaded(isSuccess: true), .makingCancelled]
        #expect(steps(making).last == "abandon(nil) false")
        #expect(steps(making + Self.whole + [.runEnded, .refused]).suffix(6).allSatisfy { $0 == "none false" })
    }
}
