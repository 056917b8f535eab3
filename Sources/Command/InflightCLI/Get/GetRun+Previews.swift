import Inflight
import InflightCore

/// Progressive previews, stored as files beside the image. Each appears, complete, as soon as it can be displayed.
extension GetRun {
    func showPreview(of item: ListItem) -> @Sendable (ImageTask, ImagePreview) -> Void {
        { [self] _, preview in
            guard !isEnding, case .success(let store) = store else { return }
            let name = nextPreviewName(item)
            item.previews.append(store.path(of: name))
            narrator.tell(item.text, "preview after \(preview.receivedBytes) bytes: \(store.path(of: name))")
            onWorker { [codecs = pipeline.codecs] in
                Result { () throws(LoadError) in
                    let file = try codecs.encode(preview.pixels, options: EncodeOptions(format: .png))
                    try store.publish(try store.draft(file), as: name)
                }
            } then: { [self] result in
                if case .failure(let error) = result { narrator.warn(error.message) }
            }
        }
    }

    /// Returns the next preview's name. The image's own is fixed only when its load ends; this one is unique too.
    private func nextPreviewName(_ item: ListItem) -> String {
        let stem = item.previewStem ?? newPreviewStem(item)
        item.previewStem = stem
        return NameParts(stem: "\(stem).preview-\(item.previews.count + 1)", fileExtension: "png").name(number: 1)
    }

    private func newPreviewStem(_ item: ListItem) -> String {
        // Truncated, so that the numbers after it never are.
        let wanted = NameParts.cut(item.wanted.stem(looksAtBytes: true), to: WantedName.limit - 40)
        var number = 1
        while true {
            let stem = NameParts(stem: wanted, fileExtension: nil).name(number: number)
            if previewStems.insert(stem).inserted { return stem }
            number += 1
        }
    }
}
