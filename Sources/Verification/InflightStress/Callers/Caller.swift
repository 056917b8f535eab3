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

    var log: ViolationLog { world.log }

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
        var state = CallerState(seed: seed)
        while operationCount < count, !world.isOver {
            if hasRoom {
                act(&state)
            } else {
                makeRoom(&state)
            }
        }
        state.releaseAll()
    }

    /// Sometimes cancels a load or empties the queue, and then waits for a load to end. Never cancels because of
    /// elapsed time: on a slow machine that would cancel every load, and none would end by itself.
    private func makeRoom(_ state: inout CallerState) {
        switch state.random.below(8) {
        case 0, 1:
            state.anyRecord()?.cancel()
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

    private func act(_ state: inout CallerState) {
        let generation = world.generation
        switch state.random.below(100) {
        case 0..<15: state.keep(loadWithCallbacks(generation, &state.random))
        case 15..<22: state.keep(loadAwaited(generation, &state.random))
        case 22..<28: state.keep(loadAsStream(generation, &state.random))
        case 28..<31: state.keep(loadAsOperation(generation, &state.random))
        case 31..<37: useCell(generation, &state)
        case 37..<41: usePrefetcher(generation, &state)
        case 41..<55: cancel(&state)
        case 55..<70:
            state.anyRecord()?.setPriority(state.random.priority())
            did(.priority)
        case 70..<89: lookUp(generation, RequestSpec(using: &state.random))
        case 89..<96:
            // Only its owner runs or empties this queue.
            if state.random.below(20) == 0 { manual.manual?.dropAll() } else { manual.manual?.runAll() }
            did(.queueChange)
        case 96..<98:
            world.disturbQueue(&state.random)
            did(.queueChange)
        default:
            state.releaseOne()
            world.didRelease()
            did(.release)
        }
    }

    private func cancel(_ state: inout CallerState) {
        guard let record = state.anyRecord() else { return lookUp(world.generation, RequestSpec(.fallback)) }
        if let place = record.place, state.random.below(2) == 0 {
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

    func lookUp(_ generation: Generation, _ spec: RequestSpec) {
        if let image = generation.pipeline.cache[spec.request(generation.itemServer)] {
            count(.fromMemory)
            if let complaint = spec.complaint(about: image.pixels) {
                log.violation(7, "the memory cache returned " + complaint)
            }
        }
        _ = generation.pipeline.statistics
        did(.lookUp)
    }

    private func useCell(_ generation: Generation, _ state: inout CallerState) {
        if state.cells.count < 2 { state.cells.append(Cell(generation, anySerialPlace(&state.random), caller: self)) }
        let cell = state.cells[state.random.below(state.cells.count)]
        switch state.random.below(10) {
        case 0..<7: cell.bind(.withoutFallback(using: &state.random), state.random.priority())
        case 7: cell.bind(nil, .normal)
        case 8: cell.cancel()
        default: cell.start()
        }
        did(.bound)
    }

    private func usePrefetcher(_ generation: Generation, _ state: inout CallerState) {
        if state.prefetchers.count < 2 {
            let turn: Prefetcher.Turn =
                state.random.below(2) == 0 ? .time(.milliseconds(1)) : .queue(anySerialPlace(&state.random).queue)
            state.prefetchers.append(StressPrefetcher(generation, turn, keepsBytes: state.random.below(2) == 0))
        }
        state.prefetchers[state.random.below(state.prefetchers.count)].use(&state.random, log)
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
struct CallerState {
    var random: SeededGenerator
    var cells: [Cell] = []
    var prefetchers: [StressPrefetcher] = []
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

    mutating func releaseOne() {
        if !cells.isEmpty, random.below(2) == 0 { cells.remove(at: random.below(cells.count)) }
        if !prefetchers.isEmpty, random.below(2) == 0 { prefetchers.remove(at: random.below(prefetchers.count)) }
    }

    mutating func releaseAll() {
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
