import InflightCore

/// Names the written files of a run in request order, and holds the items whose name depends on earlier ones.
struct FileNaming {
    enum Ending {
        /// The file was written.
        case stored(BodyKind)
        /// The file will not be written. The item reserves its expected name, so that later items get the same names as
        /// in a run in which it succeeds.
        case failed
        /// A file of an earlier run has that name, and is kept.
        case existing(String)
    }

    /// A name under which an earlier run may have stored the file of an item.
    struct Candidate {
        fileprivate var parts: NameParts
        fileprivate var number: Int
        var name: String { parts.name(number: number) }
    }

    /// The output format, if it is fixed.
    private let format: ImageFormat?
    private let inspectsBody: Bool
    private var names = OutputNameAllocator(memory: SpillingMap())
    private var unnamed: [Int: ListItem] = [:]

    init(_ options: GetOptions) {
        format = options.format
        inspectsBody = options.treatment != .anything
    }

    mutating func requested(_ item: ListItem) {
        names.asked(item.id, stem: item.suggested.stem(inspectsBody: inspectsBody))
    }

    /// - Returns: The items whose names are decided now, this one among them or not.
    mutating func ended(_ item: ListItem, _ ending: Ending) -> [(item: ListItem, name: String)] {
        let suggested = item.suggested
        let stem = suggested.stem(inspectsBody: inspectsBody)
        let decisions: [OutputNameAllocator.Decision]
        switch ending {
        case .stored(let kind):
            decisions = names.ended(item.id, stem: stem, .stored(suggested.parts(for: kind)))
            if !decisions.contains(where: { $0.id == item.id }) { unnamed[item.id] = item }
        case .failed: decisions = names.ended(item.id, stem: stem, .failed(expected: expectedParts(item)))
        case .existing(let name): decisions = names.ended(item.id, stem: stem, .existing(name))
        }
        return decisions.compactMap { decision in
            guard let name = decision.name else { return nil }
            let named = decision.id == item.id ? item : unnamed.removeValue(forKey: decision.id)
            return named.map { ($0, name) }
        }
    }

    // MARK: Files of earlier runs

    /// Returns the names that the item's file may have if all loads end as expected, the likeliest first.
    ///
    /// Call it in request order, each time after ``expect(_:)`` for the previous item.
    func candidates(_ item: ListItem) -> [Candidate] {
        let expected = expectedParts(item)
        var parts = [expected]
        if format == nil, inspectsBody {
            let others = [ImageFormat.jpeg, .png, .webp, .gif].map { item.suggested.parts(for: .image($0)) }
            parts = (expected.fileExtension == nil ? [] : parts) + others.filter { $0 != expected }
        }
        return parts.map(candidate)
    }

    /// Records the name that was found or, if none was, the one that will be given if all loads end as expected.
    func expect(_ found: Candidate?, _ item: ListItem) {
        let name = found ?? candidate(expectedParts(item))
        names.expect(name.parts, number: name.number)
    }

    private func candidate(_ parts: NameParts) -> Candidate {
        Candidate(parts: parts, number: names.expectedNumber(parts))
    }

    /// Returns the name parts as far as they are known before any bytes arrive.
    private func expectedParts(_ item: ListItem) -> NameParts {
        item.suggested.expectedParts(format: format, inspectsBody: inspectsBody)
    }
}

/// Names the previews of a run: `NAME.preview-1.png`. The names do not depend on those of the images, which are decided
/// only when their loads end.
struct PreviewNames {
    /// The beginnings of the names, each used by one image only.
    private var stems: Set<String> = []

    /// Returns a unique name for the next preview of an item.
    mutating func next(of item: ListItem) -> String {
        let stem = item.previewStem ?? newStem(item)
        item.previewStem = stem
        return NameParts(stem: "\(stem).preview-\(item.previews.count + 1)", fileExtension: "png").name(number: 1)
    }

    private mutating func newStem(_ item: ListItem) -> String {
        // Truncated to leave space for the numbers that follow.
        let suggested = NameParts.cut(item.suggested.stem(inspectsBody: true), to: SuggestedName.limit - 40)
        var number = 1
        while true {
            let stem = NameParts(stem: suggested, fileExtension: nil).name(number: number)
            if stems.insert(stem).inserted { return stem }
            number += 1
        }
    }
}
