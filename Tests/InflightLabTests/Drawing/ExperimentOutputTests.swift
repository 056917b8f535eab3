import FoundationEssentials
import InflightPrograms
import InflightTestSupport
import Testing

@testable import InflightLab

/// The output of experiments as text, SVG and JSON.
@Suite(.timeLimit(.minutes(10)))
struct ExperimentOutputTests {
    private let experiment = Experiment(
        name: "probe", title: "A <probe> & more", lookAt: "Look \"here\".", platform: "As everywhere."
    ) { _ throws(LabError) in [] }

    private var scene: Scene {
        var random = SeededGenerator(seed: 9)
        let table = Table(
            columns: ["what", "count", "verdict"], rows: [["one thing", "12", "match"], ["two", "3", "no <match>"]])
        return Scene(
            "A scene with a title that is longer than a narrow terminal is wide", TimelineTextTests.arbitrary(&random),
            table: table, findings: ["It is so, and it is told in a sentence that has to be broken."])
    }

    @Test("The text of an experiment fits the terminal width", arguments: [32, 40, 60, 80, 120])
    func width(_ columns: Int) {
        let text = ExperimentText(columns: columns, style: .plain)
        for line in text.legend + text.head(experiment) + text.lines(scene) {
            #expect(TerminalText.width(line) <= columns, "\(line)")
        }
        for line in ExperimentText.list(Experiment.all, columns: columns, style: .plain) {
            #expect(TerminalText.width(line) <= columns, "\(line)")
        }
    }

    @Test("A table that is wider than the terminal shows its cells one below another")
    func narrowTable() {
        let table = Table(columns: ["name", "a", "b"], rows: [["first", "1", "yes"], ["second", "", "no"]])
        #expect(
            TableText.lines(table, columns: 40, style: .plain) == ["name    a  b", "first   1  yes", "second     no"])
        #expect(
            TableText.lines(table, columns: 12, style: .plain)
                == ["first", "  a:\u{A0}1;", "  b:\u{A0}yes", "second", "  b:\u{A0}no"])
    }

    @Test("The SVG has one shape per span and per mark, and escapes markup")
    func svg() {
        let text = ExperimentSVG.text([(experiment, [scene])])
        #expect(text.hasPrefix("<svg ") && text.hasSuffix("</svg>\n"))
        // The background is one more rectangle.
        #expect(text.ranges(of: "<rect ").count == scene.recording.spans.count + 1)
        #expect(text.ranges(of: "<path ").count == scene.recording.marks.count)
        #expect(text.contains("A &lt;probe&gt; &amp; more") && text.contains("Look &quot;here&quot;."))
        #expect(!text.contains("<probe>") && !text.contains("<match>"))
        #expect(text.ranges(of: "<text ").count == text.ranges(of: "</text>").count)
    }

    @Test("The rectangles and labels of the SVG lie within its view box")
    func svgBounds() throws {
        let text = ExperimentSVG.text([(experiment, [scene]), (experiment, [scene])])
        let viewBox = try #require(text.firstMatch(of: /viewBox="0 0 960 ([0-9]+)"/))
        let height = try #require(Int(viewBox.1))
        for shape in text.matches(of: /<rect x="([0-9]+)" y="([0-9]+)" width="([0-9]+)" height="([0-9]+)"/) {
            let numbers = [shape.1, shape.2, shape.3, shape.4].compactMap { Int($0) }
            #expect(numbers[0] + numbers[2] <= 960 && numbers[1] + numbers[3] <= height)
        }
        for label in text.matches(of: /<text x="([0-9]+)" y="([0-9]+)"/) {
            #expect(try #require(Int(label.2)) <= height)
        }
    }

    @Test("The JSON contains the spans, marks, tracks, table and findings of a scene")
    func json() throws {
        struct Line: Decodable {
            struct Scene: Decodable {
                struct Span: Decodable {
                    var track, label, kind: String
                    var startNs, startOrder, thread, nice: Int
                    var endNs, endOrder: Int?
                }
                struct Mark: Decodable {
                    var track, label: String
                    var isTrouble: Bool
                    var timeNs, order, thread: Int
                }
                struct Table: Decodable {
                    var columns: [String]
                    var rows: [[String]]
                }
                var title: String
                var ok: Bool
                var tracks: [String]
                var spans: [Span]
                var marks: [Mark]
                var table: Table?
                var findings: [String]
            }
            var experiment, title: String
            var scenes: [Scene]
        }
        let scene = scene
        let bytes = ExperimentJSON.line(experiment, [scene])
        #expect(bytes.count { $0 == UInt8(ascii: "\n") } == 1)
        let line = try JSONDecoder().decode(Line.self, from: Data(bytes))
        let told = try #require(line.scenes.first)
        #expect(told.spans.map(\.startOrder) == scene.recording.spans.map(\.startOrder))
        #expect(told.spans.map(\.endOrder) == scene.recording.spans.map(\.endOrder))
        #expect(told.spans.map(\.label) == scene.recording.spans.map(\.label))
        #expect(told.marks.map(\.order) == scene.recording.marks.map(\.order))
        #expect(told.tracks == scene.recording.tracks && told.ok)
        #expect(told.table?.rows == scene.table?.rows && told.findings == scene.findings)
        #expect(line.experiment == "probe")
    }
}
