import InflightCore
import InflightGTK
import Testing

@Suite("What a cell decides", .timeLimit(.minutes(10)))
struct CellMachineTests {
    private enum Input {
        case bound(inMemory: Bool), unbound, looked(Nearness), ended(hasPicture: Bool), spinnerDue(Int), retried,
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
                case .ended(let hasPicture): machine.ended(hasPicture: hasPicture)
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

    @Test("being bound asks where the cell is, and loads nothing")
    func bound() {
        #expect(told([.bound(inMemory: false)]) == ["look"])
    }

    @Test("what is seen is loaded first, what is near less urgently, what is away not at all")
    func nearness() {
        #expect(told([.bound(inMemory: false), .looked(.visible)]) == ["look", "begin high, wait 1"])
        #expect(told([.bound(inMemory: false), .looked(.near)]) == ["look", "begin low, wait 1"])
        #expect(told([.bound(inMemory: false), .looked(.away), .looked(.near)]) == ["look", "", "begin low, wait 1"])
    }

    @Test("a load is turned as the cell comes and goes, and cancelled where it has left")
    func turns() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.near), .looked(.near), .looked(.visible), .looked(.away),
            .looked(.visible),
        ]
        #expect(told(inputs) == ["look", "begin low, wait 1", "", "turn high", "cancel", "begin high, wait 2"])
    }

    @Test("where what is away has a priority too, it is loaded and stays under way")
    func away() {
        let priorities = CellMachine.Priorities(visible: .veryHigh, near: .high, away: .veryLow)
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.away), .looked(.near), .looked(.visible), .looked(.away),
        ]
        let wanted = ["look", "begin veryLow, wait 1", "turn high", "turn veryHigh", "turn veryLow"]
        #expect(told(inputs, priorities: priorities) == wanted)
    }

    @Test("what is in memory is not loaded, but looked for: what moves is to move where it is seen")
    func memory() {
        #expect(told([.bound(inMemory: true), .looked(.visible), .looked(.away)]) == ["look", "", ""])
    }

    @Test("another row, or none, cancels what is under way; what comes late changes nothing")
    func rebound() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .bound(inMemory: false), .ended(hasPicture: true),
            .looked(.visible), .unbound, .ended(hasPicture: false), .looked(.visible), .unbound,
        ]
        let wanted = ["look", "begin high, wait 1", "cancel, look", "", "begin high, wait 2", "cancel", "", "", ""]
        #expect(told(inputs) == wanted)
    }

    @Test("it spins after a moment of the same load alone, and rests when that ends")
    func spinner() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .bound(inMemory: false), .looked(.visible), .spinnerDue(1),
            .spinnerDue(2), .spinnerDue(2), .ended(hasPicture: true), .spinnerDue(2),
        ]
        #expect(told(inputs).dropFirst(4) == ["", "spin", "", "rest", ""])
    }

    @Test("a failure stays until it is tried again")
    func retry() {
        let inputs: [Input] = [
            .bound(inMemory: false), .looked(.visible), .retried, .ended(hasPicture: false), .looked(.away),
            .looked(.visible), .retried, .ended(hasPicture: true), .retried,
        ]
        let wanted = ["look", "begin high, wait 1", "", "", "", "", "begin high, wait 2", "", ""]
        #expect(told(inputs) == wanted)
    }

    @Test("a cell that became larger has its picture made anew, and does not spin over the old one")
    func outgrown() {
        let inputs: [Input] = [.outgrown, .bound(inMemory: true), .outgrown, .looked(.visible), .outgrown, .outgrown]
        #expect(told(inputs) == ["", "look", "", "", "begin high", "cancel, begin high"])
    }

    @Test("in any order of everything, what is begun is ended or cancelled before the next begins")
    func orders() {
        let all: [Input] = [
            .bound(inMemory: false), .bound(inMemory: true), .unbound, .looked(.visible), .looked(.near),
            .looked(.away),
            .ended(hasPicture: true), .ended(hasPicture: false), .retried, .outgrown,
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
                case .ended(let hasPicture):
                    actions = machine.ended(hasPicture: hasPicture)
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
