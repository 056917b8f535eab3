import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One run of `inflight show`: queries the terminal, draws images in command-line order, and plays animations. If its
/// task is cancelled, it ends early, but still restores the terminal and prints its messages.
struct ShowCommand: Sendable {
    /// The state of an image in one slot of the grid.
    private enum Item: Sendable {
        case place(String)
        case source(TerminalImageLoader.Source)
        case failure(String, LoadError)
    }

    /// The current contents of one slot of the grid.
    private struct Shown: Sendable {
        var item: Item
        var picture: TerminalImageLoader.Picture?
        /// The line of the screen, and the column from its left.
        var line: Int
        var column: Int
        var ids: (UInt32, UInt32)
    }

    /// Messages printed at the end, below the images, so that no message moves an image.
    private struct Notices: Sendable {
        var failures: [(String, LoadError)] = []
        var stories: [(String, String)] = []
    }

    private typealias Prepared = (Item, TerminalImageLoader.Picture?)

    let options: ShowOptions
    let pipeline: ImagePipeline
    /// The terminal's modes; `nil` if the terminal may not be queried.
    let terminal: TerminalModes?
    private let output = StandardStream.output
    private let progress: ShowProgress
    /// The maximum number of images loaded ahead of the line that is drawn next.
    private static let loadsAhead = 8

    init(options: ShowOptions, pipeline: ImagePipeline, terminal: TerminalModes?) {
        self.options = options
        self.pipeline = pipeline
        self.terminal = terminal
        progress = ShowProgress(options.network)
    }

    /// - Returns: The exit status.
    func run() async -> Int32 {
        let window = output.window
        let profile = TerminalProfile.current
        let query = question(profile, window)
        let replies = await query?.answer()
        if replies?.isComplete == true { terminal?.restore(forgetsInput: false) }
        let drawing = Drawing(
            options.mode, colors: options.colors, profile: profile, window: window, replies: replies)

        var notices = Notices()
        var status = ExitStatus.success
        do throws(StandardStream.WriteError) {
            try await show(drawing, window, &notices)
        } catch {
            status = error.reported()
        }
        let wasAnswered = await query?.end() ?? true
        terminal?.restore(forgetsInput: !wasAnswered)
        let console = ConsoleReporter(options.network)
        for (place, text) in notices.stories { console.tell(shown: InfoCommand.shown(place), text) }
        for (place, error) in notices.failures {
            if !options.network.isQuiet { console.failed(shown: InfoCommand.shown(place), error) }
            if status == ExitStatus.success { status = ExitStatus.failure }
        }
        return status
    }

    private func question(_ profile: TerminalProfile, _ window: TerminalWindow) -> TerminalQuery? {
        let isKittyPossible = options.mode == .auto && options.colors == nil && profile.mayHaveKitty
        guard let terminal, isKittyPossible || (options.mode == .kitty && window.cell == nil) else { return nil }
        terminal.silence()
        return TerminalQuery(terminal, asksCell: window.cell == nil)
    }

    // MARK: Drawing

    private func show(
        _ drawing: Drawing, _ window: TerminalWindow, _ notices: inout Notices
    ) async throws(StandardStream.WriteError) {
        var (drawing, window) = (drawing, window)
        var items = options.places.map { Item.place($0) }
        while true {
            let screen = TerminalScreen(output, window: window)
            let shown = try await put(items, drawing, window, screen, &notices)
            var visible: [Shown] = []
            for one in shown where await screen.distance(to: one.line) != nil { visible.append(one) }
            let outcome = await play(visible, drawing, screen)
            notices.failures += outcome.failures
            switch outcome.loss {
            case nil: return
            case .stream(let error): throw error
            case .resized:
                window = output.window
                drawing = drawing.adapted(to: window)
                items = visible.map(\.item)
                let old = visible.flatMap { [$0.ids.0, $0.ids.1] }.flatMap { KittyGraphics.deletion(of: $0) }
                // ED and CUP: an empty window, with the cursor in its corner.
                try output.write((drawing.isKitty ? old : []) + Array("\u{1B}[2J\u{1B}[H".utf8))
            }
        }
    }

    /// Draws images in a grid, line by line, each as soon as all of its images are ready.
    private func put(
        _ items: [Item], _ drawing: Drawing, _ window: TerminalWindow, _ screen: TerminalScreen,
        _ notices: inout Notices
    ) async throws(StandardStream.WriteError) -> [Shown] {
        let layout = GridLayout(
            count: items.count, window: window, size: options.size, across: options.pictureColumns)
        let bands = layout.bands(count: items.count)
        let style = Style.of(output)
        let firstID = UInt32.random(in: 1 << 16...1 << 30)
        var loss: StandardStream.WriteError?
        var shown: [Shown] = []
        var heard = Notices()
        await withTaskGroup(of: (Int, Prepared).self) { group in
            var begun = 0
            var ready: [Int: Prepared] = [:]
            for (number, band) in bands.enumerated() {
                while begun < min(items.count, band.upperBound + Self.loadsAhead) {
                    let (index, item) = (begun, items[begun])
                    group.addTask { (index, await prepare(item, layout, drawing)) }
                    begun += 1
                }
                while band.contains(where: { ready[$0] == nil }), let (index, prepared) = await group.next() {
                    ready[index] = prepared
                }
                if Task.isCancelled { break }
                var entries: [GridText.Entry] = []
                var added: [Shown] = []
                for index in band {
                    guard let (item, picture) = ready.removeValue(forKey: index) else { continue }
                    if case .place = items[index] { note(item, picture, &heard) }
                    let ids = (firstID + UInt32(2 * index), firstID + UInt32(2 * index) + 1)
                    added.append(
                        Shown(
                            item: item, picture: picture, line: 0, column: layout.start(of: index), ids: ids))
                    entries.append(entry(item, picture, ids.0, layout))
                }
                let text = GridText.band(
                    entries, layout: layout, drawing: drawing, style: style, hasSuccessor: number + 1 < bands.count)
                await progress.pause()
                do throws(StandardStream.WriteError) {
                    let line = try await screen.write(text)
                    await progress.resume()
                    shown += added.map { one in
                        var one = one
                        one.line = line
                        return one
                    }
                    // An image that has left the window is not animated any more, and its memory is released.
                    for index in shown.indices where await screen.distance(to: shown[index].line) == nil {
                        shown[index].picture = nil
                        if case .source(let source) = shown[index].item { shown[index].item = .place(source.place) }
                    }
                } catch {
                    loss = error
                    break
                }
            }
            group.cancelAll()
        }
        await progress.stop()
        notices.failures += heard.failures
        notices.stories += heard.stories
        if let loss { throw loss }
        return shown
    }

    private func note(_ item: Item, _ picture: TerminalImageLoader.Picture?, _ notices: inout Notices) {
        switch item {
        case .failure(let place, let error): notices.failures.append((place, error))
        case .source(let source):
            guard let fit = picture?.fit else { return }
            let frames = picture.map { $0.image.frameCount > 1 ? ", \($0.image.frameCount) frames" : "" } ?? ""
            let text =
                "\(InfoText.name(source.info.format)) \(source.info.width) × \(source.info.height)\(frames), "
                + "drawn as \(fit.width) × \(fit.height) pixels in \(fit.columns) × \(fit.rows) cells"
            notices.stories.append((source.place, text))
        case .place: break
        }
    }

    private func entry(
        _ item: Item, _ picture: TerminalImageLoader.Picture?, _ id: UInt32, _ layout: GridLayout
    ) -> GridText.Entry {
        switch item {
        case .source(let source):
            guard let picture else { preconditionFailure("a picture that is there is drawn") }
            let caption = CaptionText.line(
                source.place, width: source.info.width, height: source.info.height, columns: layout.columns)
            return GridText.Entry(
                content: .picture(picture.form, picture.fit, id: moves(picture) ? id : nil),
                caption: layout.hasCaptions ? caption : nil)
        case .failure(let place, let error):
            return GridText.Entry(
                content: .failure(CaptionText.failure(error, columns: layout.columns)),
                caption: layout.hasCaptions ? CaptionText.name(place, columns: layout.columns) : nil)
        case .place:
            preconditionFailure("a picture is loaded before it is drawn")
        }
    }

    private func prepare(_ item: Item, _ layout: GridLayout, _ drawing: Drawing) async -> Prepared {
        let loader = TerminalImageLoader(options: options, pipeline: pipeline, progress: progress)
        var name = ""
        do throws(LoadError) {
            let source: TerminalImageLoader.Source
            switch item {
            case .failure: return (item, nil)
            case .source(let known):
                name = known.place
                source = known
            case .place(let place):
                name = place
                source = try await loader.source(place)
            }
            return (.source(source), try await loader.picture(source, layout: layout, drawing: drawing))
        } catch {
            return (.failure(name, error), nil)
        }
    }

    // MARK: Moving

    private func moves(_ picture: TerminalImageLoader.Picture) -> Bool {
        !options.isStill && picture.image.frameCount > 1
    }

    /// Plays animations until all have ended, the window size has changed, or the task is cancelled.
    private func play(
        _ shown: [Shown], _ drawing: Drawing, _ screen: TerminalScreen
    ) async -> (failures: [(String, LoadError)], loss: TerminalScreen.WriteFailure?) {
        var players: [(String, AnimationPlayer)] = []
        for one in shown {
            guard let picture = one.picture, moves(picture), let distance = await screen.distance(to: one.line)
            else { continue }
            let player = AnimationPlayer(
                image: picture.image, fit: picture.fit, drawing: drawing, form: picture.form, distance: distance,
                column: one.column, ids: one.ids, loops: options.loops.map { .times($0) } ?? .asStored,
                codecs: pipeline.codecs)
            players.append((picture.source.place, player))
        }
        guard !players.isEmpty, !Task.isCancelled else { return ([], nil) }
        terminal?.silence()
        do throws(StandardStream.WriteError) {
            try await screen.write(Array("\u{1B}[?25l".utf8))
        } catch {
            return ([], .stream(error))
        }
        var failures: [(String, LoadError)] = []
        var loss: TerminalScreen.WriteFailure?
        await withTaskGroup(of: (String, AnimationPlayer.Ending).self) { group in
            for (place, player) in players { group.addTask { (place, await player.play(on: screen)) } }
            for await (place, ending) in group {
                switch ending {
                case .ended: break
                case .failed(let error): failures.append((place, error))
                case .lost(let what):
                    loss = loss ?? what
                    group.cancelAll()
                }
            }
        }
        try? await screen.write(Array("\u{1B}[0m\u{1B}[?25h".utf8))
        return (failures, loss)
    }
}

extension Drawing {
    fileprivate var isKitty: Bool {
        if case .kitty = self { true } else { false }
    }
}
