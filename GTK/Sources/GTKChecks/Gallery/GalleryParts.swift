import CInflightGTK
import Inflight
import InflightGTK
import InflightTestSupport

@MainActor
func galleryParts(_ harness: Harness, program: String, binds: Int) {
    harness.part("the gallery shows no wrong row in any frame captured from its window") { harness in
        let run = try await GalleryRun(harness, program: program)
        // GTK binds several rows for each row that comes into view, so fewer rows are seen than bound.
        await run.throwAbout(untilSeen: min(binds / 5, 25_000))
        await run.comeToRest()
        await run.close()
        run.judge()
    }
}

/// The installed program with 10,000 rows over a slow and failing server, driven by keys, wheel and pointer.
@MainActor
private final class GalleryRun {
    private let harness: Harness
    private let server: RowServer
    private let gallery: GalleryProgram
    private var random = SeededGenerator(seed: 5)
    private let began = ContinuousClock.now

    /// The last frame that was read, and its number.
    private var last: (number: Int64, frame: GalleryFrame)?
    private var lastRows = 0..<0
    private var frames = 0, torn = 0, unread = 0
    private var right = 0, blank = 0, other = 0, wrongCount = 0
    private var wrong: [(row: Int, seen: Int)] = []
    /// The number of times that a row came into view that was not visible in the frame before.
    private var cameIntoView = 0
    private var rows: Set<Int> = []
    private var rests = 0, resizes = 0, zooms = 0
    private var size = (width: 960, height: 720)
    private var zoom = 0
    private var memory: [Int] = []
    private var isGone = false
    private var warnings = 0
    private static let cacheMegabytes = 20

    init(_ harness: Harness, program: String) async throws {
        self.harness = harness
        let server = try RowServer(slowest: 800, isFailing: true)
        self.server = server
        gallery = try GalleryProgram(
            at: program, urls: (0..<10_000).map { server.url("/row/\($0)") },
            options: ["--size", "64", "--memory", "\(Self.cacheMegabytes)", "--per-host", "64"])
        try await gallery.takeFirstWindow()
        _ = gallery.waitForFrame(atMost: 10_000)
        gallery.resize(width: size.width, height: size.height)
        gallery.move(x: size.width / 2, y: size.height / 2)
        until("the first images") { last.map { $0.frame.right > 10 } ?? false }
        memory.append(gallery.memory)
    }

    // MARK: Looking

    /// Waits for a frame, reads it, and returns whether there was one. Without a frame, nothing has changed.
    @discardableResult
    private func see(atMost milliseconds: Int32 = 40) -> Bool {
        let isNew = gallery.waitForFrame(atMost: milliseconds)
        var look = gallery.look()
        for _ in 0..<10 {
            guard case .torn = look else { break }
            torn += 1
            // By then the frame that was being drawn is complete, and the next has not begun.
            _ = gallery.waitForFrame(atMost: milliseconds)
            look = gallery.look()
        }
        switch look {
        case .gone: isGone = true
        case .torn: break
        case .frame(_, nil): unread += 1
        case .frame(let number, let frame?):
            if number != last?.number { count(frame) }
            last = (number, frame)
        }
        if frames % 100 == 0 { _ = server.answerOrder() }
        return isNew
    }

    private func count(_ frame: GalleryFrame) {
        frames += 1
        right += frame.right
        blank += frame.blank
        other += frame.other
        wrongCount += frame.wrong.count
        if wrong.count < 20 { wrong += frame.wrong }
        guard let seen = frame.rows else { return }
        cameIntoView += seen.count - seen.clamped(to: lastRows).count
        lastRows = seen
        rows.formUnion(seen)
    }

    /// Reads frame after frame until `holds` returns `true`, and records a failure if it never does.
    private func until(_ what: String, _ holds: () -> Bool) {
        for _ in 0..<1500 {
            if isGone || holds() { return }
            see()
        }
        harness.expect(false, "never: \(what)")
    }

    // MARK: The script

    func throwAbout(untilSeen wanted: Int) async {
        var middle = wanted / 2
        var rounds = 0
        while cameIntoView < wanted, !isGone, rounds < wanted {
            rounds += 1
            act()
            for _ in 0..<Int.random(in: 1..<8, using: &random) { see() }
            if cameIntoView > middle {
                memory.append(gallery.memory)
                middle = .max
            }
            if rounds % 40 == 0 { rest() }
            await Task.yield()
        }
        harness.expect(cameIntoView >= wanted, "only \(cameIntoView) rows came into view")
        memory.append(gallery.memory)
    }

    private func act() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: fling()
        case 8..<11: gallery.press(Bool.random(using: &random) ? "Page_Down" : "Page_Up")
        case 11: gallery.press(Bool.random(using: &random) ? "Home" : "End")
        case 12..<16: jump()
        case 16: resize()
        case 17: changeZoom()
        default: gallery.press(Bool.random(using: &random) ? "Down" : "Up")
        }
    }

    private func fling() {
        let isDown = Bool.random(using: &random)
        for _ in 0..<Int.random(in: 2..<20, using: &random) {
            for _ in 0..<Int.random(in: 1..<4, using: &random) { gallery.turnWheel(down: isDown) }
            see()
        }
    }

    /// Presses the scrollbar at a random position, drags it a little, and moves the pointer back to the middle.
    private func jump() {
        gallery.move(x: size.width - 9, y: size.height / 2)
        see()
        var place = Int.random(in: 80..<size.height - 30, using: &random)
        gallery.move(x: size.width - 9, y: place)
        gallery.button(1, isDown: true)
        for _ in 0..<Int.random(in: 1..<6, using: &random) {
            see()
            place = max(80, min(size.height - 30, place + Int.random(in: -15...15, using: &random)))
            gallery.move(x: size.width - 9, y: place)
        }
        gallery.button(1, isDown: false)
        gallery.move(x: size.width / 2, y: size.height / 2)
    }

    private func resize() {
        resizes += 1
        size = (Int.random(in: 560...1200, using: &random), Int.random(in: 500...1000, using: &random))
        gallery.resize(width: size.width, height: size.height)
        gallery.move(x: size.width / 2, y: size.height / 2)
    }

    private func changeZoom() {
        let isLarger = zoom <= 0
        zoom += isLarger ? 1 : -1
        zooms += 1
        gallery.press(isLarger ? "plus" : "minus", control: true)
    }

    // MARK: Rest

    /// Stays in place until every request has its response and almost no cell is blank. Failed responses leave blank
    /// cells. If few cells are visible, the failed ones alone can exceed that share, so failed loads are retried.
    private func rest() {
        until("at rest \(rests), less than 5 % of the cells are blank") {
            guard server.answerOrder().inFlight == 0, let frame = last?.frame else { return false }
            if (frame.blank + frame.other) * 20 < frame.visible { return true }
            gallery.press("r", control: true)
            return false
        }
        rests += 1
    }

    /// Checks at both ends of the list that no placeholder is left in the end, after failed loads were retried.
    func comeToRest() async {
        // GTK does not scroll to an end of the list that already has the keyboard focus.
        for (away, key) in [("Down", "Home"), ("Up", "End")] {
            var frames = 0
            until("that end of the list after \(key)") {
                // GTK 4.8 may lose the scroll, as it warns (see `close()`): the key is pressed again then.
                if frames % 100 == 0 {
                    gallery.press(away)
                    gallery.press(key)
                }
                frames += 1
                guard let frame = last?.frame, let rows = frame.rows else { return false }
                return key == "Home" ? rows.contains(0) : rows.contains(10_000 / frame.columns * frame.columns - 1)
            }
            rest()
            until("the image of every visible cell, at \(key)") {
                if last?.frame.isComplete == true { return true }
                gallery.press("r", control: true)
                return false
            }
        }
    }

    func close() async {
        let (status, text) = await gallery.close()
        // A display without a desktop has no session bus. GTK 4.8 sometimes loses the scroll position of its grid when
        // the number of columns changes. GTK prints a warning for both.
        let known = ["session bus", "ran out of items", "failed to scroll to given position"]
        let lines = text.split(separator: "\n")
        let errors = lines.filter { line in !known.contains { line.contains($0) } }.joined(separator: "\n")
        warnings = lines.count { $0.contains("failed to scroll") }
        harness.expect(
            status == 0, "its exit status is \(status.map(String.init) ?? "missing, because it had to be killed")")
        harness.expect(errors.isEmpty, "its standard error has: \(errors)")
        server.stop()
    }

    func judge() {
        let order = server.answerOrder()
        harness.note(
            "\(frames) frames in \(Int(began.duration(to: .now) / .seconds(1))) s, \(torn) torn reads, \(unread) between two "
                + "sizes, \(resizes) resizes, \(zooms) zooms, \(rests) rests, \(warnings) scroll positions lost "
                + "by GTK: \(right) cells right, \(blank) blank, \(other) of other contents, \(wrongCount) wrong")
        harness.note(
            "\(cameIntoView) rows came into view, \(rows.count) of 10,000; \(server.requestCount) requests; "
                + "\(order.overtaken * 100 / max(1, order.answered)) % of \(order.answered) responses arrived after that of a "
                + "later request")
        harness.note("memory of the gallery: \(memory.map { "\($0 / 1_000_000) MB" }.joined(separator: ", "))")
        harness.expect(wrongCount == 0, "\(wrongCount) wrong cells: \(wrong.prefix(10))")
        harness.expect(frames > 100 && right > 1000, "only \(right) right cells in \(frames) frames")
        harness.expect(
            order.overtaken * 10 >= order.answered * 3, "more than 70 % of the responses arrived in request order")
        let grown = (memory.max() ?? 0) - (memory.first ?? 0)
        harness.expect(
            ProcessMemory.isWatched || grown <= (Self.cacheMegabytes << 20) + 100_000_000,
            "\(grown / 1_000_000) MB more than at the start")
    }
}
