import Testing

@testable import InflightBatch

@Suite("Input history", .timeLimit(.minutes(10)))
struct InputHistoryTests {
    /// Digests as letters: what was recorded, what is read, and the answers (`=` same, `+` new, a digit for the first
    /// row that differs), with `<` at the end of an input that shrank.
    struct Case: Sendable, CustomTestStringConvertible {
        var recorded: String
        var read: String
        var answers: String
        var mayGrow = true
        var testDescription: String { "\(recorded) then \(read)" }
    }

    @Test(
        "Rows read again are the same, new or changed, and an input may have shrunk",
        arguments: [
            Case(recorded: "", read: "", answers: ""), Case(recorded: "", read: "abc", answers: "+++"),
            Case(recorded: "abc", read: "abc", answers: "==="), Case(recorded: "abc", read: "abcde", answers: "===++"),
            Case(recorded: "abc", read: "xbc", answers: "000"), Case(recorded: "abc", read: "abx", answers: "==2"),
            Case(recorded: "abc", read: "axcx", answers: "=111"), Case(recorded: "abc", read: "ab", answers: "==<"),
            Case(recorded: "abc", read: "", answers: "<"), Case(recorded: "abc", read: "x", answers: "0<"),
            Case(recorded: "abc", read: "bc", answers: "00<"),
            Case(recorded: "abc", read: "abc", answers: "===", mayGrow: false),
            Case(recorded: "abc", read: "abcde", answers: "===33", mayGrow: false),
            Case(recorded: "", read: "a", answers: "0", mayGrow: false),
        ])
    func table(row: Case) {
        var history = InputHistory(recordedCount: row.recorded.utf8.count, mayGrow: row.mayGrow)
        var answers = ""
        for byte in row.read.utf8 {
            switch history.rowDidRead(UInt32(byte), block: { _ in row.recorded.utf8.map { UInt32($0) } }) {
            case .same: answers += "="
            case .new: answers += "+"
            case .changed(let number): answers += String(number)
            }
        }
        if case .shrunk(let count) = history.inputDidEnd() {
            answers += "<"
            #expect(count == row.read.utf8.count)
        }
        #expect(answers == row.answers)
    }

    @Test("Each block is asked for once, in order, and only while rows are recorded")
    func blocks() {
        let length = InputHistory.blockLength
        let recorded = (0..<UInt32(2 * length + 7)).map { $0 &* 2_654_435_761 }
        var history = InputHistory(recordedCount: recorded.count)
        var asked: [Int] = []
        for row in 0..<(3 * length) {
            let digest = row < recorded.count ? recorded[row] : 0
            let answer = history.rowDidRead(digest) { block in
                asked.append(block)
                return Array(recorded[(block * length)..<min(recorded.count, (block + 1) * length)])
            }
            #expect(answer == (row < recorded.count ? .same : .new))
        }
        #expect(asked == [0, 1, 2])
        #expect(history.inputDidEnd() == .complete)
    }

    @Test("A row without a recorded digest in its block counts as changed")
    func shortBlock() {
        var history = InputHistory(recordedCount: 2)
        #expect(history.rowDidRead(1) { _ in [1] } == .same)
        #expect(history.rowDidRead(2) { _ in [1] } == .changed(row: 1))
    }

    @Test("The rows of a part are estimated by its share of the rows that were read, rejected ones included")
    func rowsOfPart() throws {
        let folder = RunFolder()
        var inputs = try BatchInputs([], folder.open())
        #expect(inputs.rowsOfPart(among: 1000) == nil)
        inputs.candidateCount = 60
        inputs.rejectCount = 20
        #expect(inputs.rowsOfPart(among: 1000) == nil, "none of this part")
        inputs.rowCount = 20
        #expect(inputs.rowsOfPart(among: 1000) == 250)
        #expect(inputs.rowsOfPart(among: 40) == 20, "never fewer than were read")
    }

    @Test("The digest of a row depends on each field and on where fields end, but not on its line")
    func digests() throws {
        func digests(_ text: String, _ options: InputOptions) -> [UInt32] {
            reading([Array(text.utf8)[...]], .csv, options).results.map(\.digest)
        }
        let options = inputOptions {
            $0.idColumn = "id"
            $0.captionColumn = "caption"
        }
        let header = "url,id,caption,x,y\n"
        let rows = [
            "u,i,c,x,y", "u2,i,c,x,y", "u,i2,c,x,y", "u,i,c2,x,y", "u,i,c,x2,y", "u,i,c,x,y2", "u,i,c,xy,", "u,i",
        ]
        let all = digests(header + rows.joined(separator: "\n"), options)
        #expect(all.count == rows.count && Set(all).count == rows.count)
        #expect(digests(header + "\n\n" + rows[0], options) == [all[0]])
        // Of 9, the URL, -1 and -1, each number in 8 bytes. Journals hold it, so it must not change.
        #expect(digests("url\nhttp://a/", .init()) == [4_242_758_803])
    }
}
