import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct LineSplitterTests {
    /// The lines of a text that arrives in pieces.
    private func lines(_ pieces: [String], limit: Int = 1000, longest: Int = .max) -> [String] {
        var splitter = LineSplitter(limit: limit, longest: longest)
        var result: [String] = []
        func take(_ isAtEnd: Bool) {
            while let line = splitter.next(isAtEnd: isAtEnd) {
                switch line {
                case .text(let bytes): result.append(String(decoding: bytes, as: UTF8.self))
                case .tooLong(let number, let beginning):
                    result.append("TOO LONG \(number) " + String(decoding: beginning.prefix(3), as: UTF8.self))
                case .endless(let number): result.append("ENDLESS \(number)")
                }
            }
        }
        for piece in pieces {
            unsafe Array(piece.utf8).withUnsafeBytes { unsafe splitter.append($0) }
            take(false)
        }
        take(true)
        return result
    }

    @Test("Blank lines, comments and surrounding white space are skipped")
    func skipping() {
        #expect(lines(["a\n\n  \n# no\n  # nor this\n\t b \r\nc#d\n"]) == ["a", "b", "c#d"])
    }

    @Test("The last line needs no line break")
    func lastLine() {
        #expect(lines(["a\nb"]) == ["a", "b"])
        #expect(lines([""]) == [])
        #expect(lines(["\n"]) == [])
    }

    @Test("A line may arrive in any number of pieces")
    func pieces() {
        #expect(lines(["http", "://", "a/1\nhtt", "p://a/2", "\n"]) == ["http://a/1", "http://a/2"])
        #expect(lines("one\r\ntwo\r\n#x\r\nthree".map(String.init)) == ["one", "two", "three"])
    }

    @Test("A byte order mark is skipped only at the start of the list")
    func byteOrderMark() {
        #expect(lines(["\u{FEFF}a\n\u{FEFF}b"]) == ["a", "\u{FEFF}b"])
    }

    @Test("A line at the limit is accepted; a longer one is reported once, and the next is read")
    func limit() {
        let fitting = String(repeating: "x", count: 100)
        #expect(lines([fitting + "\nb"], limit: 100) == [fitting, "b"])
        #expect(lines([fitting + "y\nb"], limit: 100) == ["TOO LONG 1 xxx", "b"])
        let long = Array(repeating: fitting, count: 50)
        #expect(lines(long + ["end\nb\n"], limit: 100) == ["TOO LONG 1 xxx", "b"])
        #expect(lines(long, limit: 100) == ["TOO LONG 1 xxx"])
    }

    @Test(
        "An endless line or comment is reported with its line number",
        arguments: ["", "#"])
    func endless(beginning: String) {
        let piece = String(repeating: "x", count: 90)
        let found = lines(["a\n\n", beginning] + Array(repeating: piece, count: 8), limit: 100, longest: 700)
        #expect(found == (beginning == "" ? ["a", "TOO LONG 3 xxx", "ENDLESS 3"] : ["a", "ENDLESS 3"]))
        #expect(lines(Array(repeating: piece, count: 6) + ["\nb"], limit: 100, longest: 700).last == "b")
    }

    @Test("A comment over the limit is still a comment")
    func longComment() {
        #expect(
            lines(["#"] + Array(repeating: String(repeating: "x", count: 90), count: 9) + ["\nb"], limit: 100) == ["b"])
    }
}
