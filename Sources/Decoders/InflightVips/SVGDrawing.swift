import InflightCore

/// An SVG document that asks to be drawn at another size than its own, to the pixel.
///
/// What libvips makes of sizes and units is not what browsers do: it has 72 dots to an inch, and where a document names no
/// size it takes what is drawn. So the first element is told what to say.
enum SVGDrawing {
    /// The library's own limit for a side.
    static let mostPixels = 32767

    static func resized(_ bytes: Bytes, width: Int, height: Int) throws(LoadError) -> Bytes {
        guard case .root(let root) = SVGRoot.find(in: bytes), let size = SVGSize(root, in: bytes) else {
            throw PictureError.damaged(.svg, "its first element is broken")
        }
        var edits: [(range: Range<Int>, text: String)] = []
        func set(_ name: String, _ value: String, appending: Bool = false) {
            if let old = root.attributes.first(where: { $0.name == name }) {
                edits.append((appending ? old.value.upperBound..<old.value.upperBound : old.value, value))
            } else {
                edits.append((root.end.lowerBound..<root.end.lowerBound, " \(name)=\"\(value)\""))
            }
        }
        // A style goes before attributes and before all style sheets.
        set("style", ";width:\(width)px !important;height:\(height)px !important", appending: true)
        if !size.hasViewBox { set("viewBox", "0 0 \(size.width) \(size.height)") }
        // Another shape is wanted, by more than rounding.
        let stretch = Double(width) * size.height - Double(height) * size.width
        if abs(stretch) > max(size.width, size.height) { set("preserveAspectRatio", "none") }
        return replacing(edits, in: bytes)
    }

    private static func replacing(_ edits: [(range: Range<Int>, text: String)], in bytes: Bytes) -> Bytes {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 200)
        var position = 0
        unsafe bytes.withUnsafeBytes { memory in
            for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
                unsafe result.append(contentsOf: memory[position..<edit.range.lowerBound])
                result.append(contentsOf: edit.text.utf8)
                position = edit.range.upperBound
            }
            unsafe result.append(contentsOf: memory[position...])
        }
        return Bytes(result)
    }
}
