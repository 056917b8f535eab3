import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("The machine of a loader", .timeLimit(.minutes(10)))
struct LoaderMachineTests {
    typealias Machine = LoaderMachine<String, Int, String, String, String>
    typealias Actions = Machine.Actions

    private func shown(_ machine: Machine) -> String {
        switch machine.state {
        case .idle: "idle"
        case .loading(let progress): progress.map { "loading \($0)" } ?? "loading"
        case .loaded(let picture): "loaded \(picture)"
        case .failed(let error): "failed \(error)"
        }
    }

    private func loading(_ request: String = "a") -> Machine {
        var machine = Machine()
        _ = machine.requestSet(request, isSame: false)
        return machine
    }

    private func ended(_ outcome: Machine.State) -> Machine {
        var machine = loading()
        _ = machine.loadEnded(1, with: outcome)
        return machine
    }

    @Test("begins a load when a request is set, and shows what it says")
    func life() {
        var machine = Machine()
        #expect(shown(machine) == "idle")
        #expect(machine.requestSet("a", isSame: false) == Actions(begins: 1))
        #expect(shown(machine) == "loading")
        #expect(machine.progressed(to: 5, in: 1) == true)
        #expect(shown(machine) == "loading 5")
        #expect(machine.loadEnded(1, with: .loaded("A")) == true)
        #expect(shown(machine) == "loaded A")
    }

    @Test("shows what was in memory at once, and only for the load that looked")
    func memory() {
        var machine = loading()
        machine.foundInMemory("Z", for: 0)
        #expect(shown(machine) == "loading")
        machine.foundInMemory("A", for: 1)
        #expect(shown(machine) == "loaded A")
        #expect(machine.loadEnded(1, with: .failed("late")) == false)
    }

    @Test("begins the new load before it leaves the old one, and leaves only what is under way")
    func replacing() {
        var machine = loading()
        #expect(machine.requestSet("b", isSame: false) == Actions(begins: 2, leavesOld: true))
        #expect(machine.loadEnded(2, with: .failed("no")) == true)
        #expect(machine.requestSet("c", isSame: false) == Actions(begins: 3))
        #expect(shown(machine) == "loading")
    }

    @Test("hears nothing of a load that was replaced, cancelled, reset, ended or dropped", arguments: 0..<5)
    func late(way: Int) {
        var machine = loading()
        switch way {
        case 0: _ = machine.requestSet("b", isSame: false)
        case 1: _ = machine.cancelCalled()
        case 2: _ = machine.resetCalled()
        case 3: _ = machine.loadEnded(1, with: .loaded("A"))
        default: machine.answerDropped()
        }
        let before = shown(machine)
        #expect(!machine.awaits(1))
        #expect(machine.progressed(to: 9, in: 1) == false)
        #expect(machine.loadEnded(1, with: .loaded("late")) == false)
        machine.foundInMemory("late", for: 1)
        #expect(shown(machine) == before)
    }

    @Test("does nothing for a request that asks for the same, unless it was cancelled or dropped")
    func same() {
        for outcome in [Machine.State.loaded("A"), .failed("no")] {
            var machine = ended(outcome)
            let before = shown(machine)
            #expect(machine.requestSet("a", isSame: true) == .nothing)
            #expect(shown(machine) == before)
        }
        var machine = loading()
        #expect(machine.requestSet("a", isSame: true) == .nothing)
        _ = machine.cancelCalled()
        #expect(machine.requestSet("a", isSame: true) == Actions(begins: 2))
        machine.answerDropped()
        #expect(machine.requestSet("a", isSame: true) == Actions(begins: 3))
        _ = machine.resetCalled()
        #expect(machine.requestSet("a", isSame: true) == Actions(begins: 4))
    }

    @Test("starts what was cancelled or has failed, and nothing else")
    func start() {
        var machine = Machine()
        #expect(machine.startCalled() == .nothing)
        machine = loading()
        #expect(machine.startCalled() == .nothing)
        _ = machine.cancelCalled()
        #expect(machine.startCalled() == Actions(begins: 2))
        machine = ended(.failed("no"))
        #expect(machine.startCalled() == Actions(begins: 2))
        machine = ended(.loaded("A"))
        #expect(machine.startCalled() == .nothing)
    }

    @Test("cancels what is under way, and changes nothing that has ended")
    func cancel() {
        var machine = loading()
        #expect(machine.cancelCalled() == Actions(leavesOld: true))
        #expect(shown(machine) == "idle")
        #expect(machine.request == "a")
        #expect(machine.cancelCalled() == .nothing)
        machine = ended(.loaded("A"))
        #expect(machine.cancelCalled() == .nothing)
        #expect(shown(machine) == "loaded A")
    }

    @Test("forgets everything at a reset, which setting no request is too")
    func reset() {
        for outcome in [Machine.State.loaded("A"), .failed("no")] {
            var machine = ended(outcome)
            #expect(machine.requestSet(nil, isSame: false) == .nothing)
            #expect(shown(machine) == "idle")
            #expect(machine.request == nil)
        }
        var machine = loading()
        #expect(machine.resetCalled() == Actions(leavesOld: true))
        #expect(shown(machine) == "idle")
    }

    @Test("loads anew what is altered, but begins nothing that was idle")
    func altered() {
        var machine = loading()
        #expect(machine.requestAltered("a+", isSame: true) == .nothing)
        #expect(machine.requestAltered("a+b", isSame: false) == Actions(begins: 2, leavesOld: true))
        machine = ended(.failed("no"))
        #expect(machine.requestAltered("a+", isSame: false) == Actions(begins: 2))
        _ = machine.cancelCalled()
        #expect(machine.requestAltered("a++", isSame: false) == .nothing)
        #expect(shown(machine) == "idle")
        #expect(machine.request == "a++")
    }

    @Test(
        "never has more than one load under way, nor shows another request's picture, whatever comes", arguments: 0..<50
    )
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = Machine()
        var requests: [Int: String] = [:]
        var underWay: Int?
        for _ in 0..<400 {
            let current = machine.request
            let request = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            var actions = Actions.nothing
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1: actions = machine.requestSet(request, isSame: request == current)
            case 2: actions = machine.startCalled()
            case 3: actions = machine.cancelCalled()
            case 4: actions = machine.resetCalled()
            default:
                // Any load that there ever was may speak now.
                if let (number, request) = requests.randomElement(using: &random) {
                    if machine.loadEnded(number, with: .loaded(request)) {
                        #expect(underWay == number)
                        underWay = nil
                    }
                }
            }
            #expect(actions.leavesOld == (actions.leavesOld && underWay != nil))
            if actions.leavesOld { underWay = nil }
            if let number = actions.begins {
                #expect(underWay == nil)
                underWay = number
                requests[number] = machine.request
            }
            #expect(machine.isLoading == (underWay != nil))
            if case .loaded(let picture) = machine.state { #expect(picture == machine.request) }
        }
    }
}
