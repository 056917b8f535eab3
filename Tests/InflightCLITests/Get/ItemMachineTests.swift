import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct ItemMachineTests {
    typealias Machine = ItemMachine<Int, String>

    /// Feeds events in order and describes each resulting step, with whether the item then counts as loading.
    private func steps(looksUp: Bool = false, _ events: [Machine.Event]) -> [String] {
        var machine = Machine(looksUp: looksUp)
        return events.map { "\(machine.take($0)) \(machine.isLoading)" }
    }

    private static var whole: [Machine.Event] { [.loadBegan(7), .loaded(isSuccess: true), .made("file"), .named] }

    @Test("An item loads, is made, named and published, and counts as loading until it is made")
    func whole() {
        let expected = ["none true", "make true", "name false", "publish(\"file\") false"]
        #expect(steps(Self.whole) == expected)
        #expect(steps(looksUp: true, [.lookedUp(isFound: false)] + Self.whole) == ["load true"] + expected)
    }

    @Test("An item that fails or writes no file is reported, and one that exists is skipped")
    func reports() {
        #expect(steps([.refused]) == ["report false"])
        #expect(steps(looksUp: true, [.refused]) == ["report false"])
        #expect(steps(looksUp: true, [.lookedUp(isFound: true)]) == ["skip false"])
        #expect(steps([.loadBegan(7), .loaded(isSuccess: false)]).last == "report false")
        #expect(steps([.loadBegan(7), .loaded(isSuccess: true), .made(nil)]).last == "report false")
    }

    @Test(
        "The end of the run cancels a running load, but not making or naming",
        arguments: [(0, "abandon(nil) false"), (1, "abandon(Optional(7)) false"), (2, "none true"), (3, "none false")])
    func runEnds(after count: Int, _ expected: String) {
        #expect(steps(Self.whole.prefix(count) + [.runEnded]).last == expected)
        let isOver = count < 2
        for (step, event) in zip(steps([] + Self.whole.prefix(count) + [.runEnded] + Self.whole.dropFirst(count)), 0...)
        where event > count {
            #expect((step == "none false") == isOver)
        }
    }

    @Test("A confirmed file is kept, and a redirected question is followed by another load")
    func updates() {
        #expect(steps([.loadBegan(7), .confirmed]).last == "skip false")
        #expect(
            steps([.loadBegan(7), .redirected] + Self.whole) == [
                "none true", "load true", "none true", "make true", "name false", "publish(\"file\") false",
            ])
    }

    @Test("Cancelling the making abandons the item, and an ended item ignores later events")
    func ended() {
        let making: [Machine.Event] = [.loadBegan(7), .loaded(isSuccess: true), .makingCancelled]
        #expect(steps(making).last == "abandon(nil) false")
        #expect(steps(making + Self.whole + [.runEnded, .refused]).suffix(6).allSatisfy { $0 == "none false" })
    }
}
