import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport

/// A process that writes into a cache without pause until it is killed, while two readers check it. It reports
/// acknowledgements and imminent evictions to its parent over a pipe, before anything else can happen to the entry.
final class Victim: Sendable {
    private let store: DiskStore
    private let pipe: Int32
    private let seed: UInt64
    private let state: Guarded<State>

    private struct State {
        var random: SeededGenerator
        var number = 0
        /// The latest acknowledged entries, for the readers.
        var known: [(number: Int, id: Int64)] = []
    }

    init(_ options: VictimOptions) {
        let pipe = options.pipe
        let probe = SharedProbe(path: options.probe)
        var configuration = DiskStore.Configuration(
            folder: options.folder, limit: options.limit, durability: options.durability
        ) { event in
            switch event {
            case .entryQuarantined(let url, _): Self.tell(pipe, "Q \(url ?? "?")")
            case .unavailable(let error): Self.tell(pipe, "U \(error.message)")
            case .indexDiscarded(let lost): Self.tell(pipe, "D \(lost.map(String.init) ?? "?")")
            case .recovered: break
            }
        }
        configuration.willEvict = { ids in
            Self.tell(pipe, ids.map { "E \($0.rawValue)" }.joined(separator: "\n"))
        }
        configuration.commitProbe = { probe.isInside = $0 }
        store = DiskStore(configuration)
        self.pipe = pipe
        seed = options.seed
        state = Guarded(State(random: SeededGenerator(seed: options.seed)))
    }

    /// Writes a line to the pipe in one system call, which a kill does not split.
    private static func tell(_ pipe: Int32, _ text: String) {
        let line = Array((text + "\n").utf8)
        let count = unsafe write(pipe, line, line.count)
        // The parent has exited.
        if count != line.count { exit(0) }
    }

    func run() {
        for _ in 0..<4 { writeNext() }
        for _ in 0..<2 { readNext() }
        while true { pause() }
    }

    private func writeNext() {
        let (number, size, kind, replaced) = state.withLock { state in
            state.number += 1
            let (size, kind) = (CrashBody.size(&state.random), state.random.below(8))
            let isReplacing = kind == 0 && !state.known.isEmpty
            return (state.number, size, kind, isReplacing ? state.known.removeFirst().id : nil)
        }
        let url = CrashBody.url(seed: seed, number: number)
        let body = CrashBody.bytes(seed: seed, number: number, size: size)
        if kind == 1, size > 1 { return writePart(url, body) }
        if let replaced { Self.tell(pipe, "E \(replaced)") }
        let old = replaced.map { [StoredEntry.ID(rawValue: $0)] } ?? []
        store.keep(.example(url, body: body), body: body, under: StoreKey(url), replacing: old) { [self] id in
            if let id {
                Self.tell(pipe, "A \(id.rawValue) \(number) \(size)")
                state.withLock { state in
                    state.known.append((number, id.rawValue))
                    if state.known.count > 64 { state.known.removeFirst() }
                }
            }
            writeNext()
        }
    }

    /// Writes the first half of a body, then the second. A partial body may be lost, but counts towards the limit.
    private func writePart(_ url: String, _ body: Bytes) {
        let half = body.count / 2
        let response = StoredResponse.example(url, bytes: 0..<Int64(half), total: Int64(body.count) + 1)
        store.keep(response, body: body.part(0..<half), under: StoreKey(url), replacing: []) { [self] id in
            guard let id else { return writeNext() }
            store.extend(id, by: body.part(half..<body.count), at: Int64(half)) { _ in self.writeNext() }
        }
    }

    private func readNext() {
        let number = state.withLock { state in
            state.known.isEmpty ? 1 : state.known[state.random.below(state.known.count)].number
        }
        let url = CrashBody.url(seed: seed, number: number)
        store.find(StoreKey(url), choose: { $0.isEmpty ? nil : 0 }) { [self] _, body in
            if let body, body.bytes != CrashBody.bytes(seed: seed, number: number, size: body.bytes.count) {
                Self.tell(pipe, "W \(url)")
            }
            readNext()
        }
    }
}

struct VictimOptions {
    var folder: String
    var probe: String
    var pipe: Int32
    var seed: UInt64
    var limit: Int64
    var durability: DiskStore.Durability
}

/// The bodies that victims write. They are derived from seed, number and size.
enum CrashBody {
    static func url(seed: UInt64, number: Int) -> String { "http://victim/\(seed)/\(number)" }

    static func bytes(seed: UInt64, number: Int, size: Int) -> Bytes {
        // A short random piece, repeated, is quick to generate, and no two bodies are equal.
        let piece = Bytes.random(509, seed: seed &* 1_000_003 &+ UInt64(number)).array
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + piece.count)
        while bytes.count < size { bytes += piece }
        bytes.removeLast(bytes.count - size)
        return Bytes(bytes)
    }

    /// Returns a size of 1 byte to 4 MiB. Most are small, as images are.
    static func size(_ random: inout SeededGenerator) -> Int {
        switch random.below(20) {
        case 0..<8: 1 + random.below(4000)
        case 8..<15: 4000 + random.below(60_000)
        case 15..<19: 60_000 + random.below(400_000)
        default: 400_000 + random.below((4 << 20) - 400_000)
        }
    }
}
