import InflightCore

/// Names the written files of a run in request order, and holds the items whose name depends on earlier ones.
struct FileNaming {
    enum Ending {
        /// The file was written.
        case stored(BodyProcessor.ProcessedBody)
        /// The file will not be written. The item reserves its expected name, so that later items get the same names as
        /// in a run in which it succeeds.
        case failed
        /// The file of an earlier run is kept.
        case existing
    }

    /// The output format, if it is fixed.
    private let format: ImageFormat?
    private let inspectsBody: Bool
    private let folder: OutputFolder?
    private var names: OutputNameAllocator
    /// The written files that wait for their names, by the items' identifiers.
    private var unnamed: [Int: (item: ListItem, body: BodyProcessor.ProcessedBody)] = [:]

    /// - Parameter folder: The folder of the files; `nil` if the user chose the name of the only file.
    init(_ options: GetOptions, _ folder: OutputFolder?) {
        format = options.format
        inspectsBody = options.treatment != .anything
        self.folder = folder
        names = OutputNameAllocator(memory: SpillingMap()) { folder?.isTaken($0) ?? false }
    }

    mutating func requested(_ item: ListItem) {
        names.asked(item.id, stem: item.suggested.stem(inspectsBody: inspectsBody))
    }

    /// - Returns: The written files whose names are decided now, the item's among them or not.
    mutating func ended(
        _ item: ListItem, _ ending: Ending
    ) -> [(item: ListItem, body: BodyProcessor.ProcessedBody, name: String)] {
        let suggested = item.suggested
        let stem = suggested.stem(inspectsBody: inspectsBody)
        let decisions: [OutputNameAllocator.Decision]
        switch ending {
        case .stored(let body):
            let parts = suggested.parts(for: body.kind)
            unnamed[item.id] = (item, body)
            decisions = names.ended(item.id, stem: stem, .stored(parts, own: ownName(item, parts)))
        case .failed:
            let parts = suggested.expectedParts(format: format, inspectsBody: inspectsBody)
            decisions = names.ended(item.id, stem: stem, .failed(expected: parts, own: ownName(item, parts)))
        case .existing: decisions = names.ended(item.id, stem: stem, .existing)
        }
        return decisions.compactMap { decision in
            guard let name = decision.name, let (item, body) = unnamed.removeValue(forKey: decision.id) else {
                return nil
            }
            return (item, body, name)
        }
    }

    /// Returns another name for an item whose name was taken by another program meanwhile.
    func another(for item: ListItem, _ kind: BodyKind) -> String {
        names.another(item.id, item.suggested.parts(for: kind))
    }

    /// Notes and returns the name of the item's file from an earlier run.
    private func ownName(_ item: ListItem, _ parts: NameParts) -> String? {
        item.ownName = folder?.ownName(of: item.indexKey, fileExtension: parts.fileExtension)
        return item.ownName
    }
}

/// Names the previews of a run: `NAME.preview-1.png`. The names do not depend on those of the images, which are decided
/// only when their loads end.
struct PreviewNames {
    /// The beginnings of the names, each used by one image only.
    private var stems: Set<String> = []

    /// Returns a unique name for the next preview of an item.
    ///
    /// - Parameter isTaken: Whether a file that is not of this run has a name.
    mutating func next(of item: ListItem, isTaken: (String) -> Bool) -> String {
        while true {
            let stem = item.previewStem ?? newStem(item)
            item.previewStem = stem
            let name = NameParts(stem: "\(stem).preview-\(item.previews.count + 1)", fileExtension: "png").name(
                number: 1)
            guard isTaken(name) else { return name }
            item.previewStem = nil
        }
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
