import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Synchronization

/// One thread that performs one operation after the other, whatever their results.
final class Caller: Sendable {
    /// The maximum number of loads in flight that a caller's thread starts. Callbacks may begin further loads.
    private static let room = 40

    let index: Int
    let world: World
    let manual = Place(.manual)
    private let records = Guarded([Int: Record]())
    private let tally = Guarded(Tally())
    private let lastID = Atomic<Int>(0)
    private let operations = Atomic<Int>(0)
    /// The number of records that are not closed, and of other work that is pending on queues.
    private let open = Atomic<Int>(0)
    private let closed = Atomic<Int>(0)
    private let waitsForRoom = Atomic<Bool>(false)
    private let gotRoom = DispatchSemaphore(value: 0)

    var ledger: Ledger { world.ledger }

    init(_ index: Int, _ world: World) {
        self.index = index
        self.world = world
    }

    // MARK: Counters

    var operationCount: Int { operations.load(ordering: .relaxed) }
    var openCount: Int { open.load(ordering: .relaxed) }
    /// The number of records and other work that have ended.
    var closedCount: Int { closed.load(ordering: .relaxed) }
    var openRecords: [Record] { records.withLock { Array($0.values) } }
    var counts: Tally { tally.withLock { $0 } }

    func count(_ entry: Tally.Entry) { tally.withLock { $0[entry] += 1 } }

    /// Counts an operation of a caller, on its thread or inside a callback.
    func did(_ entry: Tally.Entry) {
        count(entry)
        operations.add(1, ordering: .relaxed)
    }

    func nextID() -> Int { lastID.add(1, ordering: .relaxed).newValue }

    func opened(_ record: Record, _ id: Int) {
        records.withLock { $0[id] = record }
        takeRoom()
    }

    func closed(_ id: Int) {
        // Released outside the lock.
        let record = records.withLock { $0.removeValue(forKey: id) }
        withExtendedLifetime(record) {}
        giveRoomBack()
    }

    func takeRoom() { open.add(1, ordering: .relaxed) }

    func giveRoomBack() {
        open.subtract(1, ordering: .relaxed)
        closed.add(1, ordering: .relaxed)
        if waitsForRoom.exchange(false, ordering: .relaxed) { gotRoom.signal() }
    }

    var hasRoom: Bool { openCount < Self.room }

    // MARK: The thread

    /// Performs `count` operations, or continues until the run is over.
    func run(_ count: Int, seed: UInt64) {
        var hands = Hands(seed: seed)
        while operationCount < count, !world.isOver {
            if hasRoom {
                act(&hands)
            } else {
                makeRoom(&hands)
            }
        }
        hands.letGo()
    }

    /// Sometimes cancels a load or empties the queue, and then waits for a load to end. Never cancels because of
    /// elapsed time: on a slow machine that would cancel every load, and none would end by itself.
    private func makeRoom(_ hands: inout Hands) {
        switch hands.random.below(8) {
        case 0, 1:
            hands.anyRecord()?.cancel()
            did(.cancel)
        case 2:
            // A caller that has reached its maximum has the most work pending on its queue.
            manual.manual?.dropAll()
            did(.queueChange)
        default: break
        }
        while !hasRoom, !world.isOver {
            // Run the work that suspended queues hold.
            manual.manual?.runAll()
            world.resumeAll()
            waitsForRoom.store(true, ordering: .relaxed)
            if !hasRoom { _ = gotRoom.wait(timeout: .now() + .milliseconds(1)) }
        }
    }

    private func act(_ hands: inout Hands) {
        let generation = world.generation
        switch hands.random.below(100) {
        case 0..<15: hands.keep(loadWithCallbacks(generation, &hands.random))
        case 15..<22: hands.keep(loadAwaited(generation, &hands.random))
        case 22..<28: hands.keep(loadAsStream(generation, &hands.random))
        case 28..<31: hands.keep(loadAsOperation(generation, &hands.random))
        case 31..<37: useCell(generation, &hands)
        case 37..<41: usePrefetcher(generation, &hands)
        case 41..<55: cancel(&hands)
        case 55..<70:
            hands.anyRecord()?.setPriority(hands.random.priority())
            did(.priority)
        case 70..<89: lookUp(generation, Wish(using: &hands.random))
        case 89..<96:
            // Only its owner runs or empties this queue.
            if hands.random.below(20) == 0 { manual.manual?.dropAll() } else { manual.manual?.runAll() }
            did(.queueChange)
        case 96..<98:
            world.disturbQueue(&hands.random)
            did(.queueChange)
        default:
            hands.letGoOfSomething()
            if hands.random.below(world.opsPerGeneration / 50) == 0 { world.replaceGeneration(&hands.random) }
            did(.release)
        }
    }

    private func cancel(_ hands: inout Hands) {
        guard let record = hands.anyRecord() else { return lookUp(world.generation, Wish(.fallback)) }
        if let place = record.place, hands.random.below(2) == 0 {
            let slot = Slot(self)
            place.queue.submit {
                slot.touch()
                record.cancelOnOwnQueue()
            }
            did(.cancelOnOwnQueue)
        } else {
            record.cancel()
            did(.cancel)
        }
    }

    func lookUp(_ generation: Generation, _ wish: Wish) {
        if let image = generation.pipeline.cache[wish.request(generation.supply)] {
            count(.fromMemory)
            if let complaint = wish.complaint(about: image.pixels) {
                ledger.violation(7, "the memory cache returned " + complaint)
            }
        }
        _ = generation.pipeline.statistics
        did(.lookUp)
    }

    private func useCell(_ generation: Generation, _ hands: inout Hands) {
        if hands.cells.count < 2 { hands.cells.append(Cell(generation, anySerialPlace(&hands.random), caller: self)) }
        let cell = hands.cells[hands.random.below(hands.cells.count)]
        switch hands.random.below(10) {
        case 0..<7: cell.bind(.withoutFallback(using: &hands.random), hands.random.priority())
        case 7: cell.bind(nil, .normal)
        case 8: cell.cancel()
        default: cell.start()
        }
        did(.bound)
    }

    private func usePrefetcher(_ generation: Generation, _ hands: inout Hands) {
        if hands.prefetchers.count < 2 {
            let turn: Prefetcher.Turn =
                hands.random.below(2) == 0 ? .time(.milliseconds(1)) : .queue(anySerialPlace(&hands.random).queue)
            hands.prefetchers.append(ListAhead(generation, turn, keepsBytes: hands.random.below(2) == 0))
        }
        hands.prefetchers[hands.random.below(hands.prefetchers.count)].use(&hands.random, ledger)
        did(.prefetched)
    }

    /// Returns the caller's own queue, or a shared one.
    func anyPlace(_ random: inout SeededGenerator) -> Place {
        random.below(8) == 0 ? manual : world.places[random.below(world.places.count)]
    }

    private func anySerialPlace(_ random: inout SeededGenerator) -> Place {
        while true {
            let place = anyPlace(&random)
            if place.isSerial { return place }
        }
    }
}

/// A caller's work that is pending on a queue, or that the queue has dropped.
final class Slot: Sendable {
    private let caller: Caller

    init(_ caller: Caller) {
        self.caller = caller
        caller.takeRoom()
    }

    /// Does nothing. Closures call it so that they retain the slot.
    func touch() {}

    deinit {
        caller.giveRoomBack()
    }
}

/// The values that a caller's thread holds.
struct Hands {
    var random: SeededGenerator
    var cells: [Cell] = []
    var prefetchers: [ListAhead] = []
    /// The last loads. For some of them the task is retained, although that is not required.
    private var records: [(Record, ImageTask?)] = []
    private var next = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func keep(_ load: (Record, ImageTask?)) {
        let kept = (load.0, random.below(2) == 0 ? load.1 : nil)
        if records.count < 32 {
            records.append(kept)
        } else {
            records[next] = kept
            next = (next + 1) % records.count
        }
    }

    mutating func anyRecord() -> Record? {
        records.isEmpty ? nil : records[random.below(records.count)].0
    }

    mutating func letGoOfSomething() {
        if !cells.isEmpty, random.below(2) == 0 { cells.remove(at: random.below(cells.count)) }
        if !prefetchers.isEmpty, random.below(2) == 0 { prefetchers.remove(at: random.below(prefetchers.count)) }
    }

    mutating func letGo() {
        cells = []
        prefetchers = []
        records = []
    }
}

extension SeededGenerator {
    mutating func priority() -> ImageRequest.Priority {
        ImageRequest.Priority.allCases[below(ImageRequest.Priority.allCases.count)]
    }
}
