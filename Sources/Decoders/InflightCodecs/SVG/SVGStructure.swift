import InflightImages

/// An SVG document: the size that its root element requests, and whether its elements are closed.
struct SVGStructure: FileStructure {
    static let format = ImageFormat.svg

    let size: SVGSize

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(format: .svg, storedWidth: size.pixels.width, storedHeight: size.pixels.height, hasAlpha: true)
    }

    /// Parses up to the end of the root element's start tag, which must be in the first 256 KB.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<SVGStructure> {
        let text = SVGText.utf8(bytes, limit: 2 * SVGRoot.maximumBytes)
        switch SVGRoot.find(in: text) {
        case .needsMore: return .needsMoreBytes(bytes.count + 512)
        case .damaged: throw CodecError.damaged(.svg, "malformed first element")
        case .root(let root):
            guard let size = SVGSize(root, in: text) else { throw CodecError.damaged(.svg, "missing size") }
            return .header(SVGStructure(size: size))
        }
    }

    /// Counts start and end tags up to the end of the root element. It does not check whether their names match.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        _ = try wholeHeader(bytes)
        let bytes = SVGText.utf8(bytes)
        guard case .root(let root) = SVGRoot.find(in: bytes) else { throw CodecError.truncated(.svg) }
        if root.end.count == 2 { return }
        var scanner = SVGScanner(bytes, limit: bytes.count)
        scanner.jump(to: root.end.upperBound)
        var depth = 1
        while depth > 0 {
            guard scanner.skip(to: UInt8(ascii: "<")) else { throw CodecError.truncated(.svg) }
            let isClosed: Bool
            if scanner.skip("<!--") {
                isClosed = scanner.skip(behind: "-->")
            } else if scanner.skip("<![CDATA[") {
                isClosed = scanner.skip(behind: "]]>")
            } else if scanner.skip("<?") {
                isClosed = scanner.skip(behind: "?>")
            } else if scanner.skip("</") {
                depth -= 1
                isClosed = scanner.skip(behind: ">")
            } else {
                _ = scanner.skip("<")
                guard let isEmpty = skipTag(bytes, &scanner) else { throw CodecError.truncated(.svg) }
                if !isEmpty { depth += 1 }
                isClosed = true
            }
            if !isClosed { throw CodecError.truncated(.svg) }
        }
    }

    /// Advances behind a start tag. Returns whether it is self-closing, or `nil` if it is truncated.
    private static func skipTag(_ bytes: Bytes, _ scanner: inout SVGScanner) -> Bool? {
        var position = scanner.position
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            if quote != nil {
                if byte == quote { quote = nil }
            } else if byte == 0x22 || byte == 0x27 {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                scanner.jump(to: position + 1)
                return bytes[position - 1] == UInt8(ascii: "/")
            }
            position += 1
        }
        return nil
    }
}
