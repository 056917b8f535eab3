package import InflightCore

/// What a program asks of its decoder. The bytes that it is about are in memory that both see.
package enum DecoderRequest: Sendable, Equatable {
    /// The first: at most so much memory, beside what it has when it begins.
    case begin(maximumMemory: Int, maximumSeconds: Int)
    case decode(id: Int, format: ImageFormat, byteCount: Int, options: DecodeOptions)
    /// What there is of a picture, beyond what was seen of it.
    case decodePart(id: Int, format: ImageFormat, byteCount: Int, options: DecodeOptions, beyond: Int)
    /// Whether a file is whole.
    case validate(id: Int, format: ImageFormat, byteCount: Int)
    case encode(id: Int, layout: PixelLayout, options: EncodeOptions)
    /// On the second socket: the decode may end with an error.
    case cancel(id: Int)

    package var message: [UInt8] {
        var writer = MessageWriter()
        switch self {
        case .begin(let maximumMemory, let maximumSeconds):
            writer.write(UInt8(0))
            writer.write(maximumMemory)
            writer.write(maximumSeconds)
        case .decode(let id, let format, let byteCount, let options):
            writer.write(UInt8(1))
            writer.write(id)
            writer.write(format.rawValue)
            writer.write(byteCount)
            writer.write(options)
        case .encode(let id, let layout, let options):
            writer.write(UInt8(2))
            writer.write(id)
            writer.write(layout)
            writer.write(options.format.rawValue)
            writer.write(options.quality)
            writer.write(options.background)
            writer.write(options.isProgressive)
            writer.write(options.isLossless)
        case .cancel(let id):
            writer.write(UInt8(3))
            writer.write(id)
        case .decodePart(let id, let format, let byteCount, let options, let detail):
            writer.write(UInt8(4))
            writer.write(id)
            writer.write(format.rawValue)
            writer.write(byteCount)
            writer.write(options)
            writer.write(detail)
        case .validate(let id, let format, let byteCount):
            writer.write(UInt8(5))
            writer.write(id)
            writer.write(format.rawValue)
            writer.write(byteCount)
        }
        return writer.bytes
    }

    package init?(_ message: [UInt8]) {
        var reader = MessageReader(message)
        guard let request = Self.read(&reader), reader.isAtEnd else { return nil }
        self = request
    }

    private static func read(_ reader: inout MessageReader) -> DecoderRequest? {
        switch reader.byte() {
        case 0:
            guard let memory = reader.number(), let seconds = reader.number() else { return nil }
            return .begin(maximumMemory: memory, maximumSeconds: seconds)
        case 1:
            guard let id = reader.number(), let format = reader.text(), let count = reader.number(),
                let options = reader.decodeOptions()
            else { return nil }
            return .decode(id: id, format: ImageFormat(rawValue: format), byteCount: count, options: options)
        case 2:
            guard let id = reader.number(), let layout = reader.layout(), let format = reader.text(),
                let quality = reader.optionalNumber(), let background = reader.part(),
                let isProgressive = reader.flag(), let isLossless = reader.flag()
            else { return nil }
            var options = EncodeOptions(format: ImageFormat(rawValue: format), quality: quality)
            options.background = background
            options.isProgressive = isProgressive
            options.isLossless = isLossless
            return .encode(id: id, layout: layout, options: options)
        case 3: return reader.number().map { .cancel(id: $0) }
        case 4:
            guard let id = reader.number(), let format = reader.text(), let count = reader.number(),
                let options = reader.decodeOptions(), let detail = reader.number()
            else { return nil }
            return .decodePart(
                id: id, format: ImageFormat(rawValue: format), byteCount: count, options: options, beyond: detail)
        case 5:
            guard let id = reader.number(), let format = reader.text(), let count = reader.number() else { return nil }
            return .validate(id: id, format: ImageFormat(rawValue: format), byteCount: count)
        default: return nil
        }
    }
}

extension MessageWriter {
    mutating func write(_ options: DecodeOptions) {
        write(options.resize != nil)
        if let resize = options.resize {
            write(resize.width)
            write(resize.height)
            write(resize.fit.rawValue)
            write(resize.gravity.rawValue)
            write(resize.enlarges)
            write(resize.light.rawValue)
        }
        write(options.order.rawValue)
        write(options.premultiplied)
        write(options.maximumPixels)
        write(options.page)
    }
}

extension MessageReader {
    mutating func decodeOptions() -> DecodeOptions? {
        guard let isResized = flag() else { return nil }
        var options = DecodeOptions()
        if isResized {
            guard let width = optionalNumber(), let height = optionalNumber(),
                let fit = text().flatMap(Resize.Fit.init), let gravity = text().flatMap(Resize.Gravity.init),
                let enlarges = flag(), let light = text().flatMap(Resize.Light.init)
            else { return nil }
            options.resize = Resize(
                width: width, height: height, fit: fit, gravity: gravity, enlarges: enlarges, light: light)
        }
        guard let order = byte().flatMap(PixelBuffer.Format.Order.init), let premultiplied = flag(),
            let maximum = number(), let page = number()
        else { return nil }
        options.page = page
        options.order = order
        options.premultiplied = premultiplied
        options.maximumPixels = maximum
        return options
    }
}
