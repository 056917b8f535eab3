internal import Dispatch
internal import Inflight

extension Experiment {
    /// Recycled cells, with and without the check that the cell still shows the image's row.
    static let cells = Experiment(
        name: "cells", title: "Recycled cells",
        lookAt:
            "Cells are reused for later rows, whose images arrive first. Which image does each cell show in the end?",
        platform: "This depends only on the order of the responses, not on the system."
    ) { stage throws(LabError) in
        try ReusePolicy.allCases.map { policy throws(LabError) in try CellScene(policy, stage).run() }
    }
}

/// A cell's protection against late responses.
private enum ReusePolicy: CaseIterable {
    case none, check, loader

    var title: String {
        switch self {
        case .none: "Show every image"
        case .check: "Show an image only for its own row"
        case .loader: "ImageLoader: a new request replaces the old one"
        }
    }
}

/// Four cells that show eight rows. All state is confined to `screen`, a serial queue.
// Unchecked: mutable state is accessed only on `screen`.
private final class CellScene: @unchecked Sendable {
    private static let cells = 4

    private let policy: ReusePolicy
    private let stage: Stage
    private let screen = DispatchQueue(label: "lab.screen")
    private let recorder: Recorder
    private let source: LabServer
    private let pipeline: ImagePipeline
    private let answered = DispatchSemaphore(value: 0)
    /// The row that each cell should show, and the one that it shows.
    private var rows = [Int](repeating: -1, count: cells)
    private var shown = [Int?](repeating: nil, count: cells)
    private var loaders: [ImageLoader] = []
    private var wrong = 0

    init(_ policy: ReusePolicy, _ stage: Stage) throws(LabError) {
        self.policy = policy
        self.stage = stage
        recorder = Recorder(tracks: (0..<Self.cells).map { "cell \($0 + 1)" })
        source = try LabServer()
        pipeline = try LabImages.pipeline()
        for row in 0..<2 * Self.cells {
            let png = try LabImages.png(row, side: 32, codecs: pipeline.codecs)
            source.serve("/\(row)", [.gate(row < Self.cells ? "first rows" : "second rows"), .bytes(png)])
        }
    }

    func run() throws(LabError) -> Scene {
        let cells = Self.cells
        if policy == .loader { screen.sync { makeLoaders() } }
        screen.sync { for row in 0..<cells { bind(row) } }
        let first = source.waitForRequests(cells, timeout: stage.timeout)
        stage.rest()
        // The list is scrolled: the cells of the first rows are reused.
        screen.sync { for row in cells..<2 * cells { bind(row) } }
        let second = source.waitForRequests(2 * cells, timeout: stage.timeout)
        stage.rest()
        source.open("second rows")
        for _ in 0..<cells { answered.wait() }
        stage.rest()
        source.open("first rows")
        // A loader never reports a replaced request, so there is nothing to wait for.
        if policy == .loader { stage.rest() } else { for _ in 0..<cells { answered.wait() } }
        let last = screen.sync {
            loaders = []
            return zip(rows, shown).count { $0 != $1 }
        }
        pipeline.shutDownAndWait()
        let counted = screen.sync { wrong }
        return Scene(
            policy.title, recorder.recording,
            findings: [
                "\(Phrase.counted(counted, "wrong image")) shown; in the end \(last) of \(cells) cells show a wrong one."
            ], hasFailed: !first || !second || (policy != .none && counted > 0) || (policy == .none && counted == 0))
    }

    private func makeLoaders() {
        for cell in 0..<Self.cells {
            let loader = ImageLoader(pipeline: pipeline, callbackQueue: .queue(screen))
            loader.onChange = { [weak self] loader in
                guard let self, case .loaded(let image) = loader.state else { return }
                self.show(LabImages.number(of: image.pixels), in: cell)
            }
            loaders.append(loader)
        }
    }

    private func bind(_ row: Int) {
        let cell = row % Self.cells
        rows[cell] = row
        shown[cell] = nil
        recorder.mark("cell \(cell + 1)", "row \(row + 1)")
        let request = ImageRequest(source.url("/\(row)"))
        if policy == .loader {
            loaders[cell].request = request
            return
        }
        pipeline.load(request, on: .queue(screen)) { [self] _, result in
            if policy == .none || rows[cell] == row, let image = try? result.get() {
                show(LabImages.number(of: image.pixels), in: cell)
            } else {
                recorder.mark("cell \(cell + 1)", "late \(row + 1)")
                answered.signal()
            }
        }
    }

    private func show(_ picture: Int, in cell: Int) {
        let isWrong = picture != rows[cell]
        if isWrong { wrong += 1 }
        shown[cell] = picture
        recorder.mark("cell \(cell + 1)", isWrong ? "wrong \(picture + 1)" : "shows \(picture + 1)", isTrouble: isWrong)
        answered.signal()
    }
}
