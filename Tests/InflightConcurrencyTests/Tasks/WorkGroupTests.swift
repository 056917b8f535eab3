import Dispatch
import InflightConcurrency
import Testing

@Suite("A group of work", .timeLimit(.minutes(10)))
struct WorkGroupTests {
    private let queue = DispatchQueue(label: "callbacks")
    private let log = Log()

    private func makeGroup() -> WorkGroup {
        let (log, here) = (log, CallbackQueue.queue(queue))
        return WorkGroup(on: here) { log.note("ended \(here.isCurrent)") }
    }

    @Test("its machine ends once, when it is sealed and everybody has left")
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

    @Test("tells once, on its queue, when synchronous, asynchronous and awaited work have all ended")
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
                // Whatever way it ends: told twice, or never.
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
        // Waits until it is cancelled: nothing ever comes.
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

    @Test("says nothing while it is being filled, however often it is empty meanwhile")
    func filling() async {
        let group = makeGroup()
        for _ in 0..<3 { group.run {} }
        await queue.settle()
        #expect(log.all.isEmpty)
        group.seal()
        await queue.settle()
        #expect(log.all == ["ended true"])
    }

    @Test("never tells inside a call, on its own queue neither")
    func notInside() async {
        let (log, group) = (log, makeGroup())
        await queue.ask {
            group.seal()
            log.note("returned")
        }
        await queue.settle()
        #expect(log.all == ["returned", "ended true"])
    }

    @Test("is left by members that are let go of, and sealed by its own release; members need nobody to hold it")
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

    @Test("is silent after a cancel, and lets go of its closure there")
    func cancelled() async {
        let log = log
        let group: WorkGroup
        do {
            let witness = Witness { log.note("released") }
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

    @Test("can be entered after it was sealed as long as somebody is inside, and stops who enters it after the end")
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
        #expect(message.contains("a group that has ended was entered"), "\(message)")
    }

    @Test("tells once when many leave at once")
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
