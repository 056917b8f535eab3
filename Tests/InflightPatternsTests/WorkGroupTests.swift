import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Work groups", .timeLimit(.minutes(10)))
struct WorkGroupTests {
    private let queue = DispatchQueue(label: "callbacks")
    private let log = Log()

    private func makeGroup() -> WorkGroup {
        let (log, here) = (log, CallbackQueue.queue(queue))
        return WorkGroup(on: here) { log.note("ended \(here.isCurrent)") }
    }

    @Test("The group machine ends once, when it is sealed and every member has left")
    func machine() {
        var machine = GroupMachine()
        #expect(machine.entered() == true)
        #expect(machine.left() == false)
        #expect(machine.entered() == true)
        #expect(machine.sealed() == false)
        #expect(machine.entered() == true)
        #expect(machine.left() == false)
        #expect(machine.left() == true)
        #expect(machine.sealed() == false)
        #expect(machine.entered() == false)
        var empty = GroupMachine()
        #expect(empty.sealed() == true)
    }

    @Test("A work group ends once, on its queue, after its sync, async and awaited work has ended")
    func mixed() async throws {
        struct Broken: Error {}
        let log = log
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        let here = CallbackQueue.queue(queue)
        let group = WorkGroup(on: here) {
            log.note("ended \(here.isCurrent)")
            tell.finish()
        }
        for number in 0..<20 {
            let member = group.enter()
            DispatchQueue.global().async {
                log.note("asynchronous")
                // A member leaves once, twice, or only by being released.
                if number % 2 == 0 { member.leave() }
                if number % 4 == 0 { member.leave() }
            }
        }
        #expect(group.run { log.note("synchronous") } == ())
        #expect(throws: Broken.self) { try group.run { () throws(Broken) in throw Broken() } }
        group.task {
            await Task.yield()
            log.note("awaited")
        }
        group.task { throw Broken() }
        // Waits until it is cancelled: the stream never yields.
        let (nothing, never) = AsyncStream.makeStream(of: Void.self)
        group.task {
            for await _ in nothing {}
            try Task.checkCancellation()
        }.cancel()
        #expect(!log.all.contains("ended true"))
        group.seal()
        group.seal()
        for await _ in told {}
        await queue.settle()
        #expect(log.all.count == 23 && log.all.last == "ended true")
        withExtendedLifetime(never) {}
    }

    @Test("An unsealed work group does not end, however often it becomes empty")
    func filling() async {
        let group = makeGroup()
        for _ in 0..<3 { group.run {} }
        await queue.settle()
        #expect(log.all.isEmpty)
        group.seal()
        await queue.settle()
        #expect(log.all == ["ended true"])
    }

    @Test("A work group never delivers its end inside a call, even on its own queue")
    func notInside() async {
        let (log, group) = (log, makeGroup())
        await queue.ask {
            group.seal()
            log.note("returned")
        }
        await queue.settle()
        #expect(log.all == ["returned", "ended true"])
    }

    @Test("Releasing a member leaves its work group, and releasing the group seals it")
    func released() async {
        var group: WorkGroup? = makeGroup()
        var members = (0..<3).compactMap { _ in group?.enter() }
        group = nil
        members.removeFirst(2)
        await queue.settle()
        #expect(log.all.isEmpty)
        members = []
        await queue.settle()
        #expect(log.all == ["ended true"])
    }

    @Test("A cancelled work group delivers nothing, and cancel() releases its closure")
    func cancelled() async {
        let log = log
        let group: WorkGroup
        do {
            let witness = ReleaseProbe { log.note("released") }
            group = WorkGroup(on: .queue(queue)) {
                witness.touch()
                log.note("ended")
            }
        }
        let member = group.enter()
        group.cancel()
        #expect(log.all == ["released"])
        member.leave()
        group.seal()
        await queue.settle()
        #expect(log.all == ["released"])
    }

    @Test("A sealed work group can be entered until it ends, and entering it afterwards traps")
    func late() async throws {
        let group = makeGroup()
        let member = group.enter()
        group.seal()
        let another = group.enter()
        member.leave()
        await queue.settle()
        #expect(log.all.isEmpty)
        another.leave()
        await queue.settle()
        #expect(log.all == ["ended true"])

        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let group = WorkGroup(on: .queue(.global())) {}
            group.seal()
            _ = group.enter()
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("enter() on a finished group"), "\(message)")
    }

    @Test("A work group ends once when many members leave at once")
    func race() async {
        for _ in 0..<50 {
            let (log, group) = (Log(), Guarded<WorkGroup?>(nil))
            group.withLock { $0 = WorkGroup(on: .queue(queue)) { log.note("ended") } }
            let members = group.withLock { group in (0..<8).compactMap { _ in group?.enter() } }
            DispatchQueue.concurrentPerform(iterations: 9) { index in
                if index < 8 { members[index].leave() } else { _ = group.withLock { $0.take() } }
            }
            await queue.settle()
            #expect(log.all == ["ended"])
        }
    }
}
