import InflightImages

/// Rewrites an SVG document so that it renders at an exact size in pixels.
///
/// libvips sizes documents differently from browsers: it assumes 72 dots per inch, and uses the extent of the content
/// if a document has no size. The root element therefore gets explicit sizes.
enum SVGDrawing {
    /// The library's limit for one side.
    static let maximumPixels = 32767

    typealias Edit = (range: Range<Int>, text: String)

    static func resized(_ bytes: Bytes, width: Int, height: Int) throws(LoadError) -> Bytes {
        let bytes = SVGText.utf8(bytes)
        guard case .root(let root) = SVGRoot.find(in: bytes), let size = SVGSize(root, in: bytes) else {
            throw CodecError.damaged(.svg, "its first element is malformed")
        }
        var edits = try SVGImages.edits(in: bytes, after: root)
        func set(_ name: String, _ value: String, appending: Bool = false) {
            if let old = root.attributes.first(where: { $0.name == name }) {
                edits.append((appending ? old.value.upperBound..<old.value.upperBound : old.value, value))
            } else {
                edits.append((root.end.lowerBound..<root.end.lowerBound, " \(name)=\"\(value)\""))
            }
        }
        // An important inline style takes precedence over attributes and all style sheets.
        set("style", ";width:\(width)px !important;height:\(height)px !important", appending: true)
        if !size.hasViewBox { set("viewBox", "0 0 \(size.width) \(size.height)") }
        // The aspect ratio changes by more than rounding.
        let stretch = Double(width) * size.height - Double(height) * size.width
        if abs(stretch) > max(size.width, size.height) { set("preserveAspectRatio", "none") }
        return replacing(edits, in: bytes)
    }

    private static func replacing(_ edits: [Edit], in bytes: Bytes) -> Bytes {
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
