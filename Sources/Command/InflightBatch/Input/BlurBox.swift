internal import InflightCore

/// A part of an image to blur, as img2dataset takes it: its edges as shares of the image's width and height, from the
/// left and the top of the image as stored, before its orientation is applied.
package struct BlurBox: Hashable, Sendable {
    /// The reason why boxes cannot be used. The raw value ends a sentence that begins with "The column".
    package enum Problem: String, Error, Sendable {
        case missing = "is missing. Write null where nothing is blurred"
        case malformed = "is not a list of boxes [left, top, right, bottom] of numbers"
        case empty = "has a box whose right or bottom edge is before its left or top edge"
        case outside = "has a box outside the image. Edges are shares of its sides, from 0 to 1"
    }

    /// The left edge.
    let left: Double
    /// The top edge.
    let top: Double
    /// The right edge, not before the left one.
    let right: Double
    /// The bottom edge, not above the top one.
    let bottom: Double

    /// Creates a box. A part of it may be outside the image.
    init(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) throws(Problem) {
        guard right >= left, bottom >= top else { throw .empty }
        guard right > 0, bottom > 0, left < 1, top < 1 else { throw .outside }
        (self.left, self.top, self.right, self.bottom) = (left, top, right, bottom)
    }

    /// Returns the boxes in JSON text: a list of lists of four numbers. No text and null are no boxes.
    static func list(_ text: String) throws(Problem) -> [BlurBox] {
        if text.isEmpty || text == "null" { return [] }
        // What is valid JSON, and has these bytes only, has nothing but numbers in it.
        guard text.utf8.allSatisfy({ "[],+-.eE0123456789 \t\r\n".utf8.contains($0) }), isJSON(text) else {
            throw .malformed
        }
        let plain = text.filter { !$0.isWhitespace }
        if plain == "[]" { return [] }
        guard plain.hasPrefix("[["), plain.hasSuffix("]]") else { throw .malformed }
        var boxes: [BlurBox] = []
        for box in plain.dropFirst(2).dropLast(2).split(separator: "],[", omittingEmptySubsequences: false) {
            let edges = box.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
            guard edges.count == 4, edges.allSatisfy(\.isFinite) else { throw .malformed }
            boxes.append(try BlurBox(edges[0], edges[1], edges[2], edges[3]))
        }
        return boxes
    }

    private static func isJSON(_ text: String) -> Bool {
        do { return try JSONScanner.members(Array(text.utf8)[...]) == nil } catch { return false }
    }

    /// Returns the text of boxes, from which ``list(_:)`` returns the same ones.
    static func text(_ boxes: [BlurBox]) -> String {
        "[" + boxes.map { "[\($0.left),\($0.top),\($0.right),\($0.bottom)]" }.joined(separator: ",") + "]"
    }

    /// Returns the box in the image as displayed.
    func upright(_ orientation: ImageInfo.Orientation) -> BlurBox {
        let (x, y) = (left...right, top...bottom)
        func flipped(_ range: ClosedRange<Double>) -> ClosedRange<Double> {
            1 - range.upperBound...1 - range.lowerBound
        }
        let (across, down) =
            switch orientation {
            case .up: (x, y)
            case .upMirrored: (flipped(x), y)
            case .down: (flipped(x), flipped(y))
            case .downMirrored: (x, flipped(y))
            case .leftMirrored: (y, x)
            case .right: (flipped(y), x)
            case .rightMirrored: (flipped(y), flipped(x))
            case .left: (y, flipped(x))
            }
        return BlurBox(across: across, down: down)
    }

    private init(across: ClosedRange<Double>, down: ClosedRange<Double>) {
        (left, right, top, bottom) = (across.lowerBound, across.upperBound, down.lowerBound, down.upperBound)
    }
}

extension InputRow {
    /// Returns the boxes in a column.
    func boxes(inColumn name: String) throws(BlurBox.Problem) -> [BlurBox] {
        switch columns.first(where: { $0.name == name })?.value {
        case .text(let text): try BlurBox.list(text)
        case .json(let bytes): try BlurBox.list(JSONScanner.text(bytes[...]) ?? String(decoding: bytes, as: UTF8.self))
        case nil: throw .missing
        }
    }
}
