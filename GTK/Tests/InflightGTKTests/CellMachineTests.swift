import InflightCore
import InflightGTK
import Testing

@Suite("Cell machine", .timeLimit(.minutes(10)))
struct CellMachineTests {
    private enum Input {
        case bound(inMemory: Bool), unbound, looked(Nearness), ended(hasImage: Bool), spinnerDue(Int), retried,
            outgrown
    }

    /// Returns the actions for each input in short words, or an empty text if there are none.
    private func told(
        _ inputs: [Input], priorities: CellMachine.Priorities = CellMachine.Priorities()
    ) -> [String] {
        var machine = CellMachine(priorities: priorities)
        return inputs.map { input in
            let actions =
                switch input {
                case .bound(let inMemory): machine.bound(isInMemory: inMemory)
                case .unbound: machine.unbound()
                case .looked(let nearness): machine.looked(nearness)
                case .ended(let hasImage): machine.ended(hasImage: hasImage)
                case .spinnerDue(let number): machine.spinnerDue(number)
                case .retried: machine.retried()
                case .outgrown: machine.outgrown()
                }
            var words: [String] = []
            if actions.cancels { words.append("cancel") }
            if let priority = actions.begins { words.append("begin \(priority)") }
            if let priority = actions.turns { words.append("turn \(priority)") }
            if actions.looks { words.append("look") }
            if let number = actions.waitsToSpin { words.append("wait \(number)") }
            if let spins = actions.spins { words.append(spins ? "spin" : "rest") }
            return words.joined(separator: ", ")
        }
    }

    @Test("Binding a cell requests its position and loads nothing")
    func bound() {
        #expect(told([.bound(inMemory: false)]) == ["look"])
    }

    @Test("A visible cell loads at high priority, a near cell at low priority, a distant cell not at all")
    func nearness() {
        #expect(told([.bound(inMemory: false), .looked(.visible)]) == ["look", "begin high, wait 1"])
        #expect(told([.bound(inMemory: false), .looked(.near)]) == ["look", "begin low, wait 1"])
        #expect(told([.bound(inMemory: false), .looked(.away), .looked(.near)]) == ["look", "", "begin low, wait 1"])
    }

    @Test("A load changes priority as its cell moves, and is cancelled when the cell is away")
    func turns() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.near), .looked(.near), .looked(.visible), .looked(.away),
            .looked(.visible),
        ]
        #expect(told(inputs) == ["look", "begin low, wait 1", "", "turn high", "cancel", "begin high, wait 2"])
    }

    @Test("Cells that are away load and keep their loads if they have a priority")
    func away() {
        let priorities = CellMachine.Priorities(visible: .veryHigh, near: .high, away: .veryLow)
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.away), .looked(.near), .looked(.visible), .looked(.away),
        ]
        let wanted = ["look", "begin veryLow, wait 1", "turn high", "turn veryHigh", "turn veryLow"]
        #expect(told(inputs, priorities: priorities) == wanted)
    }

    @Test("A cell whose image is in memory loads nothing but requests its position")
    func memory() {
        #expect(told([.bound(inMemory: true), .looked(.visible), .looked(.away)]) == ["look", "", ""])
    }

    @Test("Rebinding or unbinding a cell cancels its load, and a late result changes nothing")
    func rebound() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .bound(inMemory: false), .ended(hasImage: true),
            .looked(.visible), .unbound, .ended(hasImage: false), .looked(.visible), .unbound,
        ]
        let wanted = ["look", "begin high, wait 1", "cancel, look", "", "begin high, wait 2", "cancel", "", "", ""]
        #expect(told(inputs) == wanted)
    }

    @Test("A spinner starts only for the load that scheduled it, and stops when that load ends")
    func spinner() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .bound(inMemory: false), .looked(.visible), .spinnerDue(1),
            .spinnerDue(2), .spinnerDue(2), .ended(hasImage: true), .spinnerDue(2),
        ]
        #expect(told(inputs).dropFirst(4) == ["", "spin", "", "rest", ""])
    }

    @Test("A failed load starts again only when retried")
    func retry() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .retried, .ended(hasImage: false), .looked(.away),
            .looked(.visible), .retried, .ended(hasImage: true), .retried,
        ]
        let wanted = ["look", "begin high, wait 1", "", "", "", "", "begin high, wait 2", "", ""]
        #expect(told(inputs) == wanted)
    }

    @Test("A cell that outgrows its image loads it again, without a spinner")
    func outgrown() {
        let inputs: [Input] = [.outgrown, .bound(inMemory: true), .outgrown, .looked(.visible), .outgrown, .outgrown]
        #expect(told(inputs) == ["", "look", "", "", "begin high", "cancel, begin high"])
    }

    @Test("A load ends or is cancelled before the next one begins, for any sequence of inputs")
    func orders() {
        let all: [Input] = [
            .bound(inMemory: false), .bound(inMemory: true), .unbound, .looked(.visible), .looked(.near),
            .looked(.away),
            .ended(hasImage: true), .ended(hasImage: false), .retried, .outgrown,
        ]
        // Every sequence of five inputs.
        for number in 0..<100_000 {
            var rest = number
            var machine = CellMachine()
            var isUnderWay = false
            for _ in 0..<5 {
                let input = all[rest % 10]
                rest /= 10
                if case .ended = input, !isUnderWay { continue }
                let actions: CellMachine.Actions
                switch input {
                case .bound(let inMemory): actions = machine.bound(isInMemory: inMemory)
                case .unbound: actions = machine.unbound()
                case .looked(let nearness): actions = machine.looked(nearness)
                case .ended(let hasImage):
                    actions = machine.ended(hasImage: hasImage)
                    isUnderWay = false
                case .spinnerDue: continue
                case .retried: actions = machine.retried()
                case .outgrown: actions = machine.outgrown()
                }
                if actions.cancels {
                    #expect(isUnderWay)
                    isUnderWay = false
                }
                if actions.begins != nil {
                    #expect(!isUnderWay)
                    isUnderWay = true
                }
                #expect(isUnderWay == (machine.phase == .loading))
            }
        }
    }
}
