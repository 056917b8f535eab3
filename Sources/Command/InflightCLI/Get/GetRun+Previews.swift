import Inflight
import InflightCore

/// Progressive previews, stored as files beside the image. Each file appears complete, as soon as its preview is ready.
extension GetRun {
    func showPreview(of item: ListItem) -> @Sendable (ImageTask, ImagePreview) -> Void {
        { [self] _, preview in
            guard !isEnding, case .success(let store) = store else { return }
            let name = nextPreviewName(item)
            item.previews.append(store.path(of: name))
            console.tell(item.text, "preview after \(preview.receivedBytes) bytes: \(store.path(of: name))")
            onWorker { [codecs = pipeline.codecs] in
                Result { () throws(LoadError) in
                    let file = try codecs.encode(preview.pixels, options: EncodeOptions(format: .png))
                    try store.publish(try store.draft(file), as: name)
                }
            } then: { [self] result in
                if case .failure(let error) = result { console.warn(error.message) }
            }
        }
    }

    /// Returns a unique name for the next preview. It does not depend on the name of the image, which is decided only
    /// when the load ends.
    private func nextPreviewName(_ item: ListItem) -> String {
        let stem = item.previewStem ?? newPreviewStem(item)
        item.previewStem = stem
        return NameParts(stem: "\(stem).preview-\(item.previews.count + 1)", fileExtension: "png").name(number: 1)
    }

    private func newPreviewStem(_ item: ListItem) -> String {
        // Truncated to leave space for the numbers that follow.
        let suggested = NameParts.cut(item.suggested.stem(inspectsBody: true), to: SuggestedName.limit - 40)
        var number = 1
        while true {
            let stem = NameParts(stem: suggested, fileExtension: nil).name(number: number)
            if previewStems.insert(stem).inserted { return stem }
            number += 1
        }
    }
}
