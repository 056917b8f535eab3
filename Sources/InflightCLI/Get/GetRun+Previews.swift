import Inflight
import InflightCore

/// What there is of a picture while it comes, as files beside it: each is there, whole, as soon as it can be shown.
extension GetRun {
    func showPreview(of id: Int) -> @Sendable (ImageTask, ImagePreview) -> Void {
        { [self] _, preview in
            guard !isEnding, let ask = byID[id], case .success(let store) = store else { return }
            let name = nextPreviewName(ask)
            ask.previews.append(store.path(of: name))
            narrator.tell(ask.text, "shown after \(preview.receivedBytes) bytes: \(store.path(of: name))")
            onWorker(ask) { [codecs = pipeline.codecs] in
                Result { () throws(LoadError) in
                    let file = try codecs.encode(preview.pixels, options: EncodeOptions(format: .png))
                    try store.publish(try store.draft(file), as: name)
                }
            } then: { [self] _, result in
                if case .failure(let error) = result { narrator.warn(error.message) }
            }
        }
    }

    /// The picture's own name is settled only with its ending; this one is not shared with another picture either.
    private func nextPreviewName(_ ask: Ask) -> String {
        let stem = ask.previewStem ?? newPreviewStem(ask)
        ask.previewStem = stem
        return NameParts(stem: "\(stem).preview-\(ask.previews.count + 1)", fileExtension: "png").name(number: 1)
    }

    private func newPreviewStem(_ ask: Ask) -> String {
        // Cut, so that the numbers behind it never are.
        let wanted = NameParts.cut(ask.wanted.stem(looksAtBytes: true), to: WantedName.limit - 40)
        var number = 1
        while true {
            let stem = NameParts(stem: wanted, fileExtension: nil).name(number: number)
            if previewStems.insert(stem).inserted { return stem }
            number += 1
        }
    }
}
