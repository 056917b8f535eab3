import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Rows read again", .timeLimit(.minutes(10)))
struct RowSourceTests {
    private let world: BatchWorld

    init() throws { world = try BatchWorld() }

    /// Runs over inputs whose rows have no URLs, so that nothing is fetched. Returns the message of a failure.
    private func run(_ inputs: [[String]]) async throws -> String? {
        var sources: [InputSource] = []
        for (index, lines) in inputs.enumerated() {
            world.directory.write("in\(index).txt", lines.map { $0 + "\n" }.joined())
            sources += try InputSource.expanding([world.directory.appending("in\(index).txt")])
        }
        var configuration = try world.configuration([], shardSize: 10_000)
        configuration.inputs = sources
        let ending = try await world.run(configuration)
        return ending.isFinished ? nil : ending.message
    }

    /// The rows of a first and a second run, and what the second one reports; `nil` if it finishes.
    struct Case: Sendable, CustomTestStringConvertible {
        var recorded: String
        var read: String
        var failure: String?
        /// Whether another input follows.
        var isFollowed = false
        var testDescription: String { "\(recorded) then \(read)\(isFollowed ? ", followed" : "")" }
    }

    @Test(
        "A run names the first row that is not as before, and takes new ones at the end of the last input only",
        arguments: [
            Case(recorded: "abc", read: "abc"), Case(recorded: "abc", read: "abcde"),
            Case(recorded: "abc", read: "xbc", failure: "row 1 (line 1) differs"),
            Case(recorded: "abc", read: "abx", failure: "row 3 (line 3) differs"),
            Case(recorded: "abc", read: "axcx", failure: "row 2 (line 2) differs"),
            Case(recorded: "abc", read: "bc", failure: "row 1 (line 1) differs"),
            Case(recorded: "abc", read: "ab", failure: "in0.txt has 2 rows; the run in"),
            Case(recorded: "abc", read: "abc", isFollowed: true),
            Case(recorded: "abc", read: "ab", failure: "in0.txt has 2 rows; the run in", isFollowed: true),
            Case(recorded: "abc", read: "abcde", failure: "row 4 (line 4) differs", isFollowed: true),
        ])
    func table(row: Case) async throws {
        let following = row.isFollowed ? [["z"]] : []
        #expect(try await run([row.recorded.map(String.init)] + following) == nil)
        let message = try await run([row.read.map(String.init)] + following)
        if let failure = row.failure {
            #expect(message?.contains(failure) == true, "\(message ?? "")")
        } else {
            #expect(message == nil)
        }
    }

    @Test("Inputs may follow, but none may be missing")
    func inputs() async throws {
        #expect(try await run([["a"], ["b"]]) == nil)
        await #expect { _ = try await run([["a"]]) } throws: { error in
            "\(error)".hasPrefix("Input 2 of the run in") && "\(error)".contains("in1.txt; now there is none.")
        }
        #expect(try await run([["a"], ["b"], ["c"]]) == nil)
    }

    @Test(
        "Rows are compared beyond the first block of digests",
        .enabled(if: !Sanitizer.isOn, "it is long, and compares rows in Swift alone"))
    func blocks() async throws {
        var lines = (0..<9_000).map { "row \($0)" }
        #expect(try await run([lines]) == nil)
        lines.append("more")
        #expect(try await run([lines]) == nil)
        lines[8_200] = "other"
        #expect(try await run([lines])?.contains("row 8201 (line 8201) differs") == true)
    }

    @Test("The rows of a part are estimated by its share of the rows that were read, rejected ones included")
    func share() {
        #expect(RowSource.share(0, of: 80, among: 1000) == nil, "none of this part")
        #expect(RowSource.share(20, of: 80, among: 1000) == 250)
        #expect(RowSource.share(20, of: 80, among: 40) == 20, "never fewer than were read")
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
