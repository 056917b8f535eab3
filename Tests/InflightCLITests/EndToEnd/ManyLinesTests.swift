import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Memory use does not grow with the number of lines.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !Sanitizer.isOn, "a sanitizer has memory of its own"))
struct ManyLinesTests {
    private let place = TemporaryDirectory()

    private func peak(_ lines: Int, _ options: [String], _ line: (Int) -> String) -> Int {
        var text = ""
        for number in 0..<lines { text += line(number) + "\n" }
        let result = place.run(["get", "-i", "-", "--discard", "--any"] + options, input: text)
        #expect(result.errors.contains("\(Quantity.grouped(lines))"))
        return result.peakKilobytes
    }

    @Test("80,000 different lines take no more memory than 5,000")
    func different() {
        let few = peak(5_000, ["--json"]) { "data:,\($0)" }
        let many = peak(80_000, ["--json"]) { "data:,\($0)" }
        // Remembering each line would take 30 MB and more. The 4,096 lines that may be outstanding, fewer if the
        // machine is fast, and the allocator take up to 13 MB.
        #expect(many - few < 20_000, "\(few) kB and \(many) kB")
    }

    @Test("100,000 equal lines take no more memory than 1,000")
    func equal() {
        let few = peak(1_000, ["--json"]) { _ in "data:,x" }
        let many = peak(100_000, ["--json"]) { _ in "data:,x" }
        #expect(many - few < 6_000, "\(few) kB and \(many) kB")
    }
}
