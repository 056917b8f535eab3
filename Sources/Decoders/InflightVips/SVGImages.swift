internal import CInflightVips
import InflightImages

/// The images that an SVG document embeds as `data:` URLs (RFC 2397).
///
/// librsvg decodes them with loaders that it selects by the media type of the URL alone, and silently leaves out what
/// it does not load. Browsers recognise raster images by their content.
enum SVGImages {
    /// Returns the edits that give each image the media type of its content.
    ///
    /// - Throws: ``LoadError/Code/unsupportedFormat`` if an image would be left out.
    static func edits(in bytes: Bytes, after root: SVGRoot) throws(LoadError) -> [SVGDrawing.Edit] {
        var edits: [SVGDrawing.Edit] = []
        var scanner = SVGScanner(bytes, limit: bytes.count)
        scanner.jump(to: root.end.upperBound)
        while scanner.skip(to: UInt8(ascii: "<")) {
            if scanner.skip("<!--") {
                guard scanner.skip(behind: "-->") else { break }
            } else if scanner.skip("<![CDATA[") {
                guard scanner.skip(behind: "]]>") else { break }
            } else {
                _ = scanner.skip("<")
                guard let name = scanner.name(), isImage(name) else { continue }
                var tag = SVGRoot()
                guard tag.readAttributes(&scanner) else { break }
                for attribute in tag.attributes where local(attribute.name) == "href" {
                    if let edit = try edit(attribute.value, in: bytes) { edits.append(edit) }
                }
            }
        }
        return edits
    }

    private static func local(_ name: String) -> Substring {
        name[(name.lastIndex(of: ":").map(name.index(after:)) ?? name.startIndex)...]
    }

    private static func isImage(_ name: String) -> Bool { ["image", "feImage"].contains(local(name)) }

    /// Returns the change of the URL's media type, or `nil` if it has the right one or is no `data:` URL.
    private static func edit(_ value: Range<Int>, in bytes: Bytes) throws(LoadError) -> SVGDrawing.Edit? {
        var scanner = SVGScanner(bytes, limit: value.upperBound)
        scanner.jump(to: value.lowerBound)
        scanner.skipBlanks()
        let scheme = scanner.position
        let start = scheme + 5
        let text = String(decoding: bytes.array(scheme..<min(value.upperBound, scheme + 1000)), as: UTF8.self)
        guard text.utf8.prefix(5).elementsEqual("data:".utf8) || text.lowercased().hasPrefix("data:"),
            let comma = (start..<min(value.upperBound, scheme + 1000)).first(where: { bytes[$0] == UInt8(ascii: ",") })
        else { return nil }
        let header = String(decoding: bytes.array(start..<comma), as: UTF8.self).lowercased()
        let declared = header.prefix { $0 != ";" }
        let isVector = declared == "image/svg+xml"
        let content =
            isVector ? nil : content(comma + 1..<value.upperBound, in: bytes, isBase64: header.hasSuffix(";base64"))
        guard let format = isVector ? .svg : content.flatMap(ImageFormat.detect) else { return nil }
        guard let type = mediaType(of: format) else {
            throw CodecError.unsupported(
                .svg, "it embeds an image as \(format), which cannot be drawn; PNG and JPEG can")
        }
        return declared == type ? nil : (start..<start + declared.utf8.count, type)
    }

    /// Returns the first bytes of the URL's data.
    private static func content(_ range: Range<Int>, in bytes: Bytes, isBase64: Bool) -> Bytes? {
        var text: [UInt8] = []
        var position = range.lowerBound
        while position < range.upperBound, text.count < 4096 {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "%"), position + 2 <= range.upperBound,
                let value = Hexadecimal.bytes(bytes.array(position..<position + 2))
            {
                text += value
                position += 2
            } else if byte == UInt8(ascii: "&"), isBase64 {
                // A line break as a character reference.
                while position < range.upperBound, bytes[position] != UInt8(ascii: ";") { position += 1 }
                position += 1
            } else if !isBase64 || !(byte == 0x20 || (0x09...0x0D).contains(byte)) {
                text.append(byte)
            }
        }
        guard isBase64 else { return Bytes(text) }
        let isWhole = text.count < 4096
        return Base64.decoded(isWhole ? text : Array(text[..<4096])).map { Bytes($0) }
    }

    /// Returns the media type by which librsvg finds its loader for a format, if it has one.
    private static func mediaType(of format: ImageFormat) -> String? {
        let drawn = inflight_vips_drawn_images()
        func type(_ name: String, _ ability: Int) -> String? { drawn & UInt32(ability) != 0 ? "image/\(name)" : nil }
        return switch format {
        case .png: "image/png"
        case .jpeg: "image/jpeg"
        case .gif: type("gif", INFLIGHT_VIPS_DRAWS_GIF)
        case .bmp: type("bmp", INFLIGHT_VIPS_DRAWS_BMP)
        case .webp: type("webp", INFLIGHT_VIPS_DRAWS_WEBP)
        case .svg: type("svg+xml", INFLIGHT_VIPS_DRAWS_SVG)
        default: nil
        }
    }
}

extension Bytes {
    fileprivate func array(_ range: Range<Int>) -> [UInt8] { range.map { self[$0] } }
}
