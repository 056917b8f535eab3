import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Loader state machine", .timeLimit(.minutes(10)))
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

    @Test("Setting a request starts a load, and the state follows its progress and result")
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

    @Test("A memory hit shows at once, and only for the load that looked it up")
    func memory() {
        var machine = loading()
        machine.foundInMemory("Z", for: 0)
        #expect(shown(machine) == "loading")
        machine.foundInMemory("A", for: 1)
        #expect(shown(machine) == "loaded A")
        #expect(machine.loadEnded(1, with: .failed("late")) == false)
    }

    @Test("A new request starts its load before leaving the old one, and leaves only a running load")
    func replacing() {
        var machine = loading()
        #expect(machine.requestSet("b", isSame: false) == Actions(begins: 2, leavesOld: true))
        #expect(machine.loadEnded(2, with: .failed("no")) == true)
        #expect(machine.requestSet("c", isSame: false) == Actions(begins: 3))
        #expect(shown(machine) == "loading")
    }

    @Test("Events of a replaced, cancelled, reset, ended or dropped load are ignored", arguments: 0..<5)
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

    @Test("An equal request does nothing unless the load was cancelled, dropped or reset")
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

    @Test("Calling start() restarts only a cancelled or failed load")
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

    @Test("Calling cancel() stops a running load and leaves an ended one unchanged")
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

    @Test("A reset or a nil request clears the state")
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

    @Test("An altered request reloads unless the loader is idle")
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
        "At most one load runs, and only the image of the current request shows, in any event order", arguments: 0..<50
    )
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = Machine()
        var requests: [Int: String] = [:]
        var inFlight: Int?
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
                // Any earlier load may report its end now.
                if let (number, request) = requests.randomElement(using: &random) {
                    if machine.loadEnded(number, with: .loaded(request)) {
                        #expect(inFlight == number)
                        inFlight = nil
                    }
                }
            }
            #expect(actions.leavesOld == (actions.leavesOld && inFlight != nil))
            if actions.leavesOld { inFlight = nil }
            if let number = actions.begins {
                #expect(inFlight == nil)
                inFlight = number
                requests[number] = machine.request
            }
            #expect(machine.isLoading == (inFlight != nil))
            if case .loaded(let picture) = machine.state { #expect(picture == machine.request) }
        }
    }
}
