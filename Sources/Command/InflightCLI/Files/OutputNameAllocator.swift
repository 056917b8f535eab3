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
        /// The load has a file to name. It replaces `own`, the same URL's file from an earlier run, if there is one.
        case stored(NameParts, own: String? = nil)
        case failed(expected: NameParts, own: String? = nil)
        /// The file of an earlier run is kept.
        case existing
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
    /// Whether a file that is not of this run has a name.
    private let isTakenByFile: (String) -> Bool
    /// The loads without a name, in request order, by the beginnings of their stems (``queue(of:)``).
    private var waiting: [String: [Load]] = [:]
    /// For each of these queues, the queues whose first load waits for it to advance.
    private var dependents: [String: Set<String>] = [:]

    init(memory: SpillingMap, isTakenByFile: @escaping (String) -> Bool = { _ in false }) {
        allocated = memory
        self.isTakenByFile = isTakenByFile
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

    /// Returns another name for a load whose name was taken by another program meanwhile.
    func another(_ id: Int, _ parts: NameParts) -> String { allocate(parts, id) }

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
        case .stored(let parts, let own): return takeOwn(own) ?? allocate(parts, id)
        case .failed(let parts, let own): _ = takeOwn(own) ?? allocate(parts, id)
        case .existing: break
        }
        return nil
    }

    private func takeOwn(_ own: String?) -> String? {
        guard let own, allocated[own] == nil else { return nil }
        allocated[own] = []
        return own
    }

    private func allocate(_ parts: NameParts, _ id: Int) -> String {
        let first = parts.name(number: 1)
        let number = firstFree(parts, first, before: id)
        allocated[first] = number > 1 ? Self.bytes(number) : []
        guard number > 1 else { return first }
        let name = parts.name(number: number)
        allocated[name] = []
        return name
    }

    /// Returns the first number under which the name is free. A name without an extension conflicts with any extension,
    /// because the extension that its image would have had is unknown.
    ///
    /// - Parameter first: The unnumbered name.
    private func firstFree(_ parts: NameParts, _ first: String, before id: Int) -> Int {
        var number = allocated[first].map { Self.number($0) + 1 } ?? 1
        while isTaken(parts, number, before: id) { number += 1 }
        return number
    }

    private func isTaken(_ parts: NameParts, _ number: Int, before id: Int) -> Bool {
        let name = parts.name(number: number)
        if number > 1, allocated[name] != nil { return true }
        let bare = NameParts(stem: parts.stem).name(number: number)
        if parts.fileExtension != nil, allocated[bare] != nil { return true }
        if isTakenByFile(name) { return true }
        // An earlier load that is still pending may get the name with this number.
        guard number > 1 else { return false }
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
