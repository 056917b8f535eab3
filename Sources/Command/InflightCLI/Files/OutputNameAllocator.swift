/// Allocates file names, unique within a run and in request order: `a.jpg`, `a-2.jpg`.
///
/// The extension is known only when a load has ended, and loads end in any order. So a load gets its name when all
/// earlier loads that could get the same name have ended: those with the same stem and, if the stem ends in a number
/// (`a-2`), those that could get it as their numbered name.
///
/// A failed load reserves its expected name, so that the same list leads to the same names in a later run in which that
/// load succeeds.
struct OutputNameAllocator {
    enum Ending: Equatable {
        /// The load has a file to name.
        case stored(NameParts)
        case failed(expected: NameParts)
        /// A file of an earlier run has that name, and is kept.
        case existing(String)
    }

    struct Decision: Equatable {
        var id: Int
        /// The name; `nil` if the load failed, or if an earlier run's file is kept.
        var name: String?
    }

    private struct Load {
        let id: Int
        let stem: String
        var ending: Ending?
    }

    /// The allocated names. The value of an unnumbered one is the last number given to it, and empty for 1.
    private let allocated: SpillingMap
    /// The names that the loads get if all end as expected, in the same form.
    private let expected = SpillingMap()
    /// The loads without a name, in request order, by the beginnings of their stems (``queue(of:)``).
    private var waiting: [String: [Load]] = [:]
    /// For each of these queues, the queues whose first load waits for it to advance.
    private var dependents: [String: Set<String>] = [:]

    init(memory: SpillingMap) {
        allocated = memory
    }

    /// Whether no load waits for its name.
    var isEmpty: Bool { waiting.isEmpty }

    /// - Parameter id: Greater than every earlier one.
    mutating func asked(_ id: Int, stem: String) {
        waiting[Self.queue(of: stem), default: []].append(Load(id: id, stem: stem))
    }

    /// - Returns: The decisions that are possible now, for this load, for others or for both.
    mutating func ended(_ id: Int, stem: String, _ ending: Ending) -> [Decision] {
        let queue = Self.queue(of: stem)
        guard let place = waiting.index(forKey: queue),
            let index = waiting.values[place].firstIndex(where: { $0.id == id })
        else { return [] }
        waiting.values[place][index].ending = ending
        guard index == 0 else { return [] }
        var decisions: [Decision] = []
        var names = [queue]
        while let name = names.popLast() {
            guard advance(name, into: &decisions) else { continue }
            if !dependents.isEmpty { names += dependents.removeValue(forKey: name) ?? [] }
        }
        return decisions
    }

    /// Returns the number that a name gets if all loads end as expected, to find the file of an earlier run.
    ///
    /// Call it in request order, each time after ``expect(_:number:)`` for the previous load.
    func expectedNumber(_ parts: NameParts) -> Int {
        firstFree(parts, parts.name(number: 1), in: expected)
    }

    /// Records the name that was found, or that will be given if all loads end as expected.
    func expect(_ parts: NameParts, number: Int) {
        take(parts, parts.name(number: 1), number, in: expected)
    }

    /// Names the loads at the front of a queue, up to the first that has not ended or waits for another queue.
    ///
    /// - Returns: Whether any load was named.
    private mutating func advance(_ name: String, into decisions: inout [Decision]) -> Bool {
        guard let queue = waiting.index(forKey: name) else { return false }
        var done = 0
        while done < waiting.values[queue].count {
            let load = waiting.values[queue][done]
            guard let ending = load.ending else { break }
            if let parent = Self.parent(of: load.stem).map(Self.queue(of:)), parent != name,
                let first = waiting[parent]?.first, first.id < load.id
            {
                dependents[parent, default: []].insert(name)
                break
            }
            decisions.append(Decision(id: load.id, name: decide(load.id, ending)))
            done += 1
        }
        guard done > 0 else { return false }
        if done == waiting.values[queue].count {
            waiting.remove(at: queue)
        } else {
            waiting.values[queue].removeFirst(done)
        }
        return true
    }

    private func decide(_ id: Int, _ ending: Ending) -> String? {
        switch ending {
        case .stored(let parts): return allocate(parts, id)
        case .failed(let parts): _ = allocate(parts, id)
        case .existing(let name):
            if allocated[name] == nil { allocated[name] = [] }
        }
        return nil
    }

    private func allocate(_ parts: NameParts, _ id: Int) -> String {
        let first = parts.name(number: 1)
        return take(parts, first, firstFree(parts, first, in: allocated, before: id), in: allocated)
    }

    /// Returns the first number under which the name is free. A name without an extension conflicts with any extension,
    /// because the extension that its image would have had is unknown.
    ///
    /// - Parameter first: The unnumbered name.
    private func firstFree(_ parts: NameParts, _ first: String, in memory: SpillingMap, before id: Int? = nil) -> Int {
        var number = memory[first].map { Self.number($0) + 1 } ?? 1
        while isTaken(parts, number, in: memory, before: id) { number += 1 }
        return number
    }

    /// - Returns: The name.
    @discardableResult
    private func take(_ parts: NameParts, _ first: String, _ number: Int, in memory: SpillingMap) -> String {
        memory[first] = number > 1 ? Self.bytes(number) : []
        guard number > 1 else { return first }
        let name = parts.name(number: number)
        memory[name] = []
        return name
    }

    private func isTaken(_ parts: NameParts, _ number: Int, in memory: SpillingMap, before id: Int?) -> Bool {
        if number > 1, memory[parts.name(number: number)] != nil { return true }
        let bare = NameParts(stem: parts.stem).name(number: number)
        if parts.fileExtension != nil, memory[bare] != nil { return true }
        // An earlier load that is still pending may get the name with this number.
        guard number > 1, let id else { return false }
        let other = Self.queue(of: bare)
        guard other != Self.queue(of: parts.stem), let first = waiting[other]?.first else { return false }
        return first.id < id
    }

    /// Returns the queue of a stem, shared by stems that may lead to one name: equal ones, and long truncated ones.
    private static func queue(of stem: String) -> String {
        // A truncated stem is far longer than this, even with the longest number and extension.
        stem.utf8.count <= 64 ? stem : String(decoding: stem.utf8.prefix(64), as: UTF8.self)
    }

    /// Returns `a` for `a-2`: the stem of which this may be a numbered name.
    private static func parent(of stem: String) -> String? {
        guard let dash = stem.utf8.lastIndex(of: UInt8(ascii: "-")), dash != stem.startIndex else { return nil }
        let digits = stem.utf8[stem.utf8.index(after: dash)...]
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return String(stem[..<dash])
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func number(_ bytes: [UInt8]) -> Int {
        bytes.isEmpty ? 1 : bytes.enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    }
}
