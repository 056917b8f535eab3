import Inflight
import InflightConcurrency
import InflightCore

/// The facts about an image, as text and as JSON.
enum InfoText {
    static func lines(_ place: String, _ facts: ImageSummary, style: Style) -> [String] {
        let info = facts.info
        var rows = [(name: "format", value: format(info))]
        var dimensions = "\(info.width) × \(info.height)"
        if info.orientation.swapsAxes { dimensions += " (stored as \(info.storedWidth) × \(info.storedHeight))" }
        rows.append(("dimensions", dimensions))
        rows.append(("orientation", "\(info.orientation.rawValue), \(words(info.orientation))"))
        if let page = facts.page { rows.append(("page", Quantity.grouped(page + 1))) }
        let count = Quantity.grouped(info.frameCount) + (info.mayHaveMoreFrames ? " or more" : "")
        rows.append((info.format == .tiff ? "pages" : "frames", count))
        if let animation = facts.animation { rows.append(("plays", plays(animation))) }
        rows.append(("colour", color(info)))
        rows.append(("alpha", info.hasAlpha ? "yes" : "no"))
        rows.append(("bytes", facts.bytes.map { Quantity.grouped($0) } ?? "not reported by the server"))
        if let placeholder = facts.placeholder {
            rows.append(("BlurHash", placeholder.blurHash))
            rows.append(("ThumbHash", placeholder.thumbHash))
            rows.append(("main colour", placeholder.dominantColor))
        }
        let metadata = facts.metadata.map(MetadataText.rows) ?? []
        let width = max(13, 1 + (metadata.map(\.name.count).max() ?? 0))
        return [style.bold(InfoCommand.shown(place))]
            + (rows + metadata).map { name, value in
                "  " + name + String(repeating: " ", count: width - name.count) + TerminalText.safe(value)
            }
    }

    static func story(_ facts: ImageSummary) -> String {
        var text = "\(Quantity.bytes(facts.readBytes)) read from \(facts.source)"
        if let url = facts.finalURL { text += ", final URL \(TerminalText.safe(url))" }
        return text
    }

    static func json(
        _ place: String, _ result: Result<ImageSummary, LoadError>, status: Int?, milliseconds: Int
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("url", RedactedText.withoutUser(place))
        switch result {
        case .success(let facts):
            let info = facts.info
            writer.add("outcome", Report.Outcome.ok.rawValue)
            writer.add("format", info.format.rawValue)
            writer.add("width", info.width)
            writer.add("height", info.height)
            writer.add("storedWidth", info.storedWidth)
            writer.add("storedHeight", info.storedHeight)
            writer.add("orientation", info.orientation.rawValue)
            if let page = facts.page { writer.add("page", page + 1) }
            writer.add("frames", info.frameCount)
            if info.format == .tiff { writer.add("pages", info.frameCount) }
            if info.mayHaveMoreFrames { writer.add("mayHaveMoreFrames", true) }
            if let animation = facts.animation {
                // 0 means forever, as in most formats.
                writer.add("loops", animation.loopCount ?? 0)
                writer.add("durationMilliseconds", Int(animation.duration.saturatedNanoseconds / 1_000_000))
            }
            writer.add("color", info.colorModel.rawValue)
            writer.add("bitsPerComponent", info.bitsPerComponent)
            if let profile = info.profileName { writer.add("profile", profile) }
            writer.add("alpha", info.hasAlpha)
            writer.add("progressive", info.isProgressive)
            if let bytes = facts.bytes { writer.add("bytes", bytes) }
            writer.add("readBytes", facts.readBytes)
            if let placeholder = facts.placeholder {
                writer.add("blurHash", placeholder.blurHash)
                writer.add("thumbHash", placeholder.thumbHash)
                writer.add("dominantColor", placeholder.dominantColor)
            }
            if let metadata = facts.metadata { MetadataText.add(metadata, to: &writer) }
            writer.add("from", facts.source.rawValue)
        case .failure(let error):
            writer.add("outcome", Report.Outcome.failed.rawValue)
            if let status { writer.add("status", status) }
            writer.add(error)
        }
        writer.add("ms", milliseconds)
        return writer.line
    }

    private static func plays(_ animation: AnimatedImage.Info) -> String {
        let time = Quantity.time(animation.duration)
        switch animation.loopCount {
        case nil: return "forever, \(time) each time"
        case 1: return "once, \(time)"
        case let count?: return "\(Quantity.grouped(count)) times, \(time) each time"
        }
    }

    /// Returns the usual spelling of a format.
    static func name(_ format: ImageFormat) -> String {
        let names: [ImageFormat: String] = [
            .jpeg: "JPEG", .png: "PNG", .webp: "WebP", .gif: "GIF", .bmp: "BMP", .ico: "ICO", .avif: "AVIF",
            .heic: "HEIC", .jpegXL: "JPEG XL", .tiff: "TIFF", .svg: "SVG",
        ]
        return names[format] ?? format.rawValue
    }

    private static func format(_ info: ImageInfo) -> String {
        let name = name(info.format)
        guard info.isProgressive else { return name }
        return name + (info.format == .jpeg ? ", progressive" : ", interlaced")
    }

    private static func color(_ info: ImageInfo) -> String {
        let models: [ImageInfo.ColorModel: String] = [
            .gray: "grey", .rgb: "RGB", .indexed: "palette", .cmyk: "CMYK", .ycck: "YCCK",
        ]
        var text = "\(models[info.colorModel] ?? info.colorModel.rawValue), \(info.bitsPerComponent) bits"
        if let profile = info.profileName { text += ", profile \"\(profile)\"" }
        return text
    }

    private static func words(_ orientation: ImageInfo.Orientation) -> String {
        switch orientation {
        case .up: "upright"
        case .upMirrored: "mirror horizontally"
        case .down: "rotate by 180°"
        case .downMirrored: "mirror vertically"
        case .leftMirrored: "mirror horizontally, then rotate by 270° clockwise"
        case .right: "rotate by 90° clockwise"
        case .rightMirrored: "mirror horizontally, then rotate by 90° clockwise"
        case .left: "rotate by 270° clockwise"
        }
    }
}
