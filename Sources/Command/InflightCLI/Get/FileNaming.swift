import InflightCore

/// Names the written files of a run in request order, and holds the items whose name depends on earlier ones.
struct FileNaming {
    enum Ending {
        /// The file was written.
        case stored(BodyProcessor.ProcessedBody, FileStore.Draft)
        /// The file will not be written. The item reserves its expected name, so that later items get the same names as
        /// in a run in which it succeeds.
        case failed
        /// The file of an earlier run is kept.
        case existing
    }

    /// A written file whose name is decided.
    struct NamedFile {
        let item: ListItem
        let body: BodyProcessor.ProcessedBody
        let draft: FileStore.Draft
        var name: String

        /// The file for the output folder, which records it.
        var recorded: OutputFolder.NewFile {
            OutputFolder.NewFile(
                draft: draft, name: name, key: item.indexKey,
                fileExtension: item.suggested.parts(for: body.kind).fileExtension, validator: body.validator,
                isOwn: name == item.ownName)
        }
    }

    /// The output format, if it is fixed.
    private let format: ImageFormat?
    private let inspectsBody: Bool
    private let folder: OutputFolder?
    private var names: OutputNameAllocator
    /// The items that have ended since the last call of ``decide()``.
    private var ended: [(item: ListItem, ending: Ending)] = []
    /// The written files that wait for their names, by the items' identifiers.
    private var unnamed: [Int: (item: ListItem, body: BodyProcessor.ProcessedBody, draft: FileStore.Draft)] = [:]

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

    /// Whether any written file has no name yet.
    var hasFiles: Bool { !unnamed.isEmpty }

    /// Notes the end of an item.
    ///
    /// - Returns: Whether it is the first since the last call of ``decide()``.
    mutating func ended(_ item: ListItem, _ ending: Ending) -> Bool {
        if case .stored(let body, let draft) = ending { unnamed[item.id] = (item, body, draft) }
        ended.append((item, ending))
        return ended.count == 1
    }

    /// - Returns: The written files whose names are decided by the endings that were noted.
    mutating func decide() -> [NamedFile] {
        var files: [NamedFile] = []
        for (item, ending) in ended {
            for decision in decisions(item, ending) {
                guard let name = decision.name, let file = unnamed.removeValue(forKey: decision.id) else { continue }
                files.append(NamedFile(item: file.item, body: file.body, draft: file.draft, name: name))
            }
        }
        ended.removeAll(keepingCapacity: true)
        return files
    }

    private mutating func decisions(_ item: ListItem, _ ending: Ending) -> [OutputNameAllocator.Decision] {
        let suggested = item.suggested
        let stem = suggested.stem(inspectsBody: inspectsBody)
        switch ending {
        case .stored(let body, _):
            let parts = suggested.parts(for: body.kind)
            return names.ended(item.id, stem: stem, .stored(parts, own: ownName(item, parts)))
        case .failed:
            let parts = suggested.expectedParts(format: format, inspectsBody: inspectsBody)
            return names.ended(item.id, stem: stem, .failed(expected: parts, own: ownName(item, parts)))
        case .existing: return names.ended(item.id, stem: stem, .existing)
        }
    }

    /// Returns a file with another name, because another program has taken its name meanwhile.
    mutating func renamed(_ file: NamedFile) -> NamedFile {
        var file = file
        file.name = names.another(file.item.id, file.item.suggested.parts(for: file.body.kind))
        return file
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
