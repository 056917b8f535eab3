import InflightCore
import Testing

@testable import InflightBatch

@Suite("Boxes to blur", .timeLimit(.minutes(1)))
struct BlurBoxTests {
    @Test(
        "Boxes are lists of four numbers, and no text, null and an empty list are none",
        arguments: [
            ("", 0), ("null", 0), ("[]", 0), (" [ ] ", 0), ("[[0.1,0.2,0.3,0.4]]", 1),
            ("\n[ [0, 0,1 ,1] , [1e-1,5E-1,0.5,0.5]]", 2), ("[[0,0,1,1],[0.1,0.5,0.5,0.5]]", 2),
            ("[[-0.5,-1,2,1.5]]", 1),
        ])
    func lists(text: String, count: Int) throws {
        let boxes = try BlurBox.list(text)
        #expect(boxes.count == count)
        #expect(try BlurBox.list(BlurBox.text(boxes)) == boxes)
    }

    @Test(
        "What is not a list of boxes, or has an impossible one, is a problem",
        arguments: [
            ("[0.1,0.2,0.3,0.4]", BlurBox.Problem.malformed), ("[[0.1,0.2,0.3]]", .malformed),
            ("[[0.1,0.2,0.3,0.4,0.5]]", .malformed), ("[[[0.1,0.2,0.3,0.4]]]", .malformed), ("[[]]", .malformed),
            ("[[0.1,0.2,\"0.3\",0.4]]", .malformed), ("[[0.1,0.2,null,0.4]]", .malformed),
            ("[[0.1,0.2,true,0.4]]", .malformed), ("[[0,0,1 1,1]]", .malformed), ("[[0,0,.5,1]]", .malformed),
            ("[[0,0,1e999,1]]", .malformed),
            ("[[0,0,1,1],[]]", .malformed), ("[[0,0,1,1]],[[0,0,1,1]]", .malformed), ("{}", .malformed),
            ("none", .malformed), ("1", .malformed), ("[[0,0,1,1]", .malformed), ("[null]", .malformed),
            ("[[0.5,0,0.4,1]]", .empty), ("[[0,0.5,1,0.4]]", .empty), ("[[10,20,200,300]]", .outside),
            ("[[0,0,0.1,0.1],[-0.5,0,-0.1,1]]", .outside), ("[[0,1,1,2]]", .outside), ("[[0,-1,1,0]]", .outside),
        ])
    func problems(text: String, problem: BlurBox.Problem) {
        #expect(throws: problem) { try BlurBox.list(text) }
    }

    @Test(
        "A box in the stored image is where its pixels are in the displayed one",
        arguments: ImageInfo.Orientation.allCases)
    func orientations(orientation: ImageInfo.Orientation) throws {
        let (width, height) = (20, 10)
        let box = try BlurBox(0.1, 0.2, 0.4, 0.5)
        let stored = unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            for index in 0..<width * height {
                let isInside = (2..<8).contains(index % width) && (2..<5).contains(index / width)
                unsafe memory.storeBytes(of: isInside ? UInt32.max : 0, toByteOffset: index * 4, as: UInt32.self)
            }
        }
        let shown = stored.oriented(orientation)
        let upright = box.upright(orientation)
        func edge(_ share: Double, _ side: Int) -> Int { Int((share * Double(side)).rounded()) }
        let columns = edge(upright.left, shown.width)..<edge(upright.right, shown.width)
        let rows = edge(upright.top, shown.height)..<edge(upright.bottom, shown.height)
        #expect(columns.count * rows.count == 18)
        for y in 0..<shown.height {
            for x in 0..<shown.width {
                let pixel = unsafe shown.withUnsafeBytes { unsafe $0[y * shown.bytesPerRow + x * 4] }
                #expect((pixel == 255) == (columns.contains(x) && rows.contains(y)), "\(x), \(y)")
            }
        }
    }

    @Test("Rows have the boxes of their column, and rows without boxes of the right form are rejected")
    func rows() {
        let options = inputOptions { $0.boxColumn = "faces" }
        let lines = [
            #"{"url":"a","faces":[[0,0,0.5,0.5]]}"#, #"{"url":"b","faces":null}"#,
            #"{"url":"c","faces":"[[0,0,1,1]]"}"#,
            #"{"url":"d"}"#, #"{"url":"e","faces":[[1,2,3]]}"#, #"{"url":"f","faces":7}"#,
        ]
        let found = reading(lines.joined(separator: "\n"), .json, options)
        #expect(found.rows.map(\.boxes.count) == [1, 0, 1])
        #expect(found.rows.allSatisfy { $0.columns.map(\.name) == ["faces"] })
        #expect(
            found.reasons == [
                .notBoxes(column: "faces", .missing), .notBoxes(column: "faces", .malformed),
                .notBoxes(column: "faces", .malformed),
            ])
        let table = reading("url,faces\na,\"[[0,0,1,1]]\"\nb,\nc,[0]\n", .csv, options)
        #expect(table.rows.map(\.boxes.count) == [1, 0] && table.rejects.map(\.line) == [4])
        #expect(reading("url\na\n", .csv, options).error == .missingColumn("faces", columns: ["url"]))
        #expect(reading("a\n", .text, options).error == .missingColumn("faces", columns: []))
    }

    @Test("Rows of one URL are fetched once if their boxes are equal")
    func fetchKeys() throws {
        var rows = ["[[0,0,1,1]]", "[[0.0,0,1,1.0]]", "[[0,0,1,0.5]]", "[]"].map { _ in
            InputRow(number: 0, line: 0, url: "u")
        }
        for (index, text) in ["[[0,0,1,1]]", "[[0.0,0,1,1.0]]", "[[0,0,1,0.5]]", "[]"].enumerated() {
            rows[index].boxes = try BlurBox.list(text)
        }
        #expect(rows[0].fetchKey == rows[1].fetchKey && rows[3].fetchKey == "u")
        #expect(Set(rows.map(\.fetchKey)).count == 3)
    }
}
