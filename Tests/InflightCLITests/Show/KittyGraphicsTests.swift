import InflightCore
import Testing

@testable import InflightCLI

/// Commands to a terminal that shows pixels, and its replies.
@Suite(.timeLimit(.minutes(10)))
struct KittyGraphicsTests {
    @Test(
        "An image is sent in chunks of at most 4096 bytes that reassemble to the original",
        arguments: [0, 1, 3071, 3072, 3073, 20_000])
    func chunks(_ count: Int) throws {
        let png = Bytes((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        let bytes = KittyGraphics.picture(png, id: 77, cells: (5, 6))
        let screen = ScreenModel(bytes, columns: 80, rows: 24)
        let picture = try #require(screen.pictures.first)
        #expect(screen.unknown.isEmpty && screen.pictures.count == 1)
        #expect(picture.payload == png.array)
        var keys = picture.keys
        keys["m"] = nil
        #expect(keys == ["a": "T", "f": "100", "q": "2", "C": "1", "i": "77", "c": "5", "r": "6"])
        #expect(screen.line == 0 && screen.column == 0)
    }

    @Test("Optional keys without a value are omitted")
    func few() throws {
        let screen = ScreenModel(KittyGraphics.picture(Bytes([1]), id: nil, cells: nil), columns: 80, rows: 24)
        let keys = try #require(screen.pictures.first?.keys)
        #expect(keys["i"] == nil && keys["c"] == nil && keys["r"] == nil)
    }

    private func replies(_ text: String) -> TerminalReplies {
        var replies = TerminalReplies()
        replies.received(text.utf8)
        return replies
    }

    private let full = "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[6;20;10t\u{1B}[?62;22c"

    @Test("The replies of a graphics terminal give its support and its cell size")
    func answered() {
        let replies = replies(full)
        #expect(replies.hasKitty && replies.isComplete)
        #expect(replies.cell == TerminalWindow.Cell(width: 10, height: 20))
    }

    @Test("Replies may arrive in any pieces, and typed input between them is ignored")
    func pieces() {
        let whole = replies(full)
        let bytes = Array(full.utf8)
        for cut in bytes.indices {
            var replies = TerminalReplies()
            replies.received(bytes[..<cut])
            #expect(!replies.isComplete)
            replies.received(bytes[cut...])
            #expect(replies == whole)
        }
        let mixed = replies("ls\r\(full.replacing("\u{1B}[6", with: "q\u{1B}[A\u{1B}[6"))")
        #expect(mixed.hasKitty && mixed.isComplete && mixed.cell != nil)
    }

    @Test(
        "A missing, negative or malformed reply means no graphics support",
        arguments: [
            "\u{1B}[?62;c", "\u{1B}_Gi=31;ENOTSUPPORTED:no\u{1B}\\\u{1B}[?6c", "\u{1B}_Gi=32;OK\u{1B}\\\u{1B}[?6c",
            "\u{1B}_Xi=31;OK\u{1B}\\\u{1B}[?6c", "\u{1B}]Gi=31;OK\u{1B}\\\u{1B}[?6c", "Gi=31;OK\u{1B}[?6c",
            "\u{1B}_G\(String(repeating: "x", count: 5000)),i=31;OK\u{1B}\\\u{1B}[?6c",
        ])
    func refused(_ text: String) {
        let replies = replies(text)
        #expect(!replies.hasKitty && replies.isComplete)
    }

    @Test(
        "An implausible cell size is ignored",
        arguments: ["6;0;0", "6;99999999999999999999;10", "6;-20;10", "4;600;800", "6;20", "6;1000;1000"])
    func cells(_ parameters: String) {
        #expect(replies("\u{1B}[\(parameters)t\u{1B}[?6c").cell == nil)
    }

    @Test("Random bytes do no harm, and a reply after them is recognised")
    func anything() {
        for _ in 0..<2000 {
            let alphabet: [UInt8] = [0x1B, 0x5B, 0x5F, 0x5C, 0x47, 0x3B, 0x07, 0x63, 0x18, 0x41, 0xFF, 0x00]
            let noise = (0..<Int.random(in: 0..<40)).map { _ in alphabet.randomElement()! }
            var replies = TerminalReplies()
            replies.received(noise)
            replies.received("\u{7}\u{1B}\\\(full)".utf8)
            #expect(replies.isComplete && replies.hasKitty, "\(noise)")
        }
    }

    @Test("The environment determines the colours and whether graphics may be queried")
    func profile() {
        func profile(_ environment: [String: String]) -> TerminalProfile { TerminalProfile { environment[$0] } }
        #expect(profile(["TERM": "xterm-256color"]).colors == .palette)
        #expect(profile(["TERM": "xterm", "COLORTERM": "truecolor"]).colors == .truecolor)
        #expect(profile(["TERM": "xterm", "COLORTERM": "24bit"]).colors == .truecolor)
        #expect(profile(["TERM": "xterm-direct"]).colors == .truecolor)
        #expect(profile(["TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1"]).colors == .none)
        #expect(profile(["TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": ""]).colors == .truecolor)
        for kind in ["dumb", ""] {
            #expect(profile(["TERM": kind, "COLORTERM": "truecolor"]).colors == .none)
            #expect(!profile(["TERM": kind]).mayHaveKitty)
        }
        #expect(profile([:]).colors == .none)
        for term in ["tmux-256color", "screen", "screen.xterm-256color", "tmux"] {
            #expect(!profile(["TERM": term]).mayHaveKitty)
        }
        #expect(!profile(["TERM": "xterm-kitty", "TMUX": "/tmp/x,1,0"]).mayHaveKitty)
        #expect(!profile(["TERM": "xterm-kitty", "STY": "1.pts"]).mayHaveKitty)
        #expect(profile(["TERM": "xterm-kitty", "TMUX": ""]).mayHaveKitty)
    }

    @Test("Pixels are drawn if the terminal confirms graphics or --mode requires them, else half blocks")
    func choice() {
        let (yes, no) = (replies(full), replies("\u{1B}[?6c"))
        let profile = TerminalProfile { ["TERM": "xterm"][$0] }
        let window = TerminalWindow(columns: 80, rows: 24)
        func drawing(
            _ mode: ShowOptions.Mode, _ replies: TerminalReplies?, _ colors: ColorDepth? = nil
        ) -> Drawing {
            Drawing(mode, colors: colors, profile: profile, window: window, replies: replies)
        }
        let cell = TerminalWindow.Cell(width: 10, height: 20)!
        #expect(drawing(.auto, yes) == .kitty(cell, isKnown: true))
        #expect(drawing(.auto, no) == .blocks(.palette, nil))
        #expect(drawing(.auto, nil) == .blocks(.palette, nil))
        #expect(drawing(.blocks, yes) == .blocks(.palette, cell))
        #expect(drawing(.auto, yes, .truecolor) == .blocks(.truecolor, cell))
        #expect(drawing(.kitty, nil) == .kitty(.fallback, isKnown: false))
    }
}
