import InflightCodecs
import InflightConcurrency
@testable import InflightCore

extension Target {
    private static let codecs = CodecRegistry(Codecs.standard)

    /// A format's files: header, structure and pixels.
    static func picture(_ format: ImageFormat) -> Target {
        Target(name: format.rawValue) { array in
            let bytes = Bytes(array)
            // Whatever it begins with, this format's codec reads it.
            guard let codec = Codecs.standard.first(where: { $0.decodableFormats.contains(format) }) else {
                return require(false, "the format is read")
            }
            let info = probe(codec, bytes, format)
            let half = Bytes(Array(array.prefix(array.count / 2)))
            if let part = try? codec.probe(half, format: format, isComplete: false) {
                switch part {
                case .needsMoreBytes(let count): require(count > half.count, "more bytes are asked for than there are")
                case .info(let early):
                    // Of an animation all is walked, so that what comes later may still make it damaged.
                    guard let info else { return require(early.mayHaveMoreFrames, "a part has no more than the whole") }
                    require(
                        early.storedWidth == info.storedWidth && early.storedHeight == info.storedHeight,
                        "a part tells the size that the whole has")
                }
            }
            if let metadata = try? codec.metadata(bytes, format: format) { look(metadata) }
            try? codec.validate(bytes, format: format)
            for resize in [nil, Resize(width: 7, height: 5, fit: .cover)] {
                decode(codec, bytes, format, info, resize)
                decodePart(codec, half, format, resize)
                decodePart(codec, bytes, format, resize)
            }
            _ = try? codecs.info(of: bytes)
            animate(codec, bytes, format)
        }
    }

    /// What there is of a file that is not whole, or damaged.
    private static func decodePart(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ resize: Resize?) {
        var options = DecodeOptions(resize: resize)
        options.maximumPixels = 100_000
        do throws(LoadError) {
            guard case .info(let info)? = try? codec.probe(bytes, format: format, isComplete: false) else { return }
            let needed = codec.memoryNeeded(bytes, format: format, info: info, options: options)
            require(needed >= 0, "what is needed can be counted")
            guard
                let part = try codec.decodePart(
                    bytes, format: format, options: options, beyond: 0, cancellation: CancellationFlag())
            else { return }
            let plan = (resize ?? Resize()).plan(sourceWidth: info.width, sourceHeight: info.height)
            require(part.pixels.width == plan.width && part.pixels.height == plan.height, "a part has the whole's size")
            require(part.detail > 0, "a part has something")
            require(part.coversAll || part.pixels.format.alpha != .opaque, "what is missing is transparent")
            _ = part.pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels]
            require(known.contains(error.code), "\(error.code) is an error of decoders")
        }
    }

    /// Frames of an animation, on their canvas, backwards and forwards.
    private static func animate(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat) {
        var options = DecodeOptions(resize: Resize(width: 11))
        options.maximumPixels = 20_000
        options.maximumFrames = 40
        options.maximumAnimationPixels = 200_000
        do throws(LoadError) {
            guard let source = try codec.animation(bytes, format: format, options: options) else { return }
            require(!source.frames.isEmpty && source.frames.count <= 40, "an animation has frames, and not too many")
            require(source.loopCount.map { $0 > 0 } ?? true, "it is shown once or more often")
            let composer = try FrameComposer(source, options: options)
            let plan = Resize(width: 11).plan(sourceWidth: source.info.width, sourceHeight: source.info.height)
            for index in [0, source.frames.count - 1, min(1, source.frames.count - 1)] {
                require(source.frames[index].duration >= .milliseconds(11), "every frame is shown for a while")
                let pixels = try composer.frame(at: index, cancellation: CancellationFlag())
                let isPlanned = pixels.width == plan.width && pixels.height == plan.height
                require(isPlanned, "a frame has the size that was planned")
                _ = pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
            }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels, .tooManyFrames]
            require(known.contains(error.code), "\(error.code) is an error of animations")
        }
    }

    private static func look(_ metadata: ImageMetadata) {
        _ = metadata.xmp
        guard let exif = metadata.exif else { return }
        require(exif.fields.count <= 1000, "a record has no more fields than are read")
        require(exif.fields.allSatisfy { $0.value.description.utf8.count <= 20_000 }, "and none without end")
        if let place = exif.location {
            require(abs(place.latitude) <= 90 && abs(place.longitude) <= 180, "a place is on Earth")
        }
    }

    private static func probe(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat) -> ImageInfo? {
        guard case .info(let info)? = try? codec.probe(bytes, format: format, isComplete: true) else { return nil }
        require(info.storedWidth > 0 && info.storedHeight > 0, "what has a header has a size")
        require(info.frameCount > 0, "and a frame")
        require(info.profileName.map { $0.count <= 128 } ?? true, "a profile's name is short")
        return info
    }

    private static func decode(
        _ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ info: ImageInfo?, _ resize: Resize?
    ) {
        var options = DecodeOptions(resize: resize)
        options.maximumPixels = 100_000
        do throws(LoadError) {
            let pixels = try codec.decode(bytes, format: format, options: options, cancellation: CancellationFlag())
            guard let info else { return require(false, "what is decoded has a header") }
            let plan = (resize ?? Resize()).plan(sourceWidth: info.width, sourceHeight: info.height)
            let isPlanned = pixels.width == plan.width && pixels.height == plan.height
            require(isPlanned, "the pixels have the size that was planned")
            require(info.storedWidth * info.storedHeight <= 100_000, "no more pixels than are allowed")
            // All of them are there.
            _ = pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels]
            require(known.contains(error.code), "\(error.code) is an error of decoders")
            require(error.stage == .decode && !error.message.isEmpty, "an error says where it happened")
        }
    }

    /// BlurHash and ThumbHash, as servers send them.
    static let placeholder = Target(name: "placeholder") { bytes in
        if let hash = try? BlurHash(String(decoding: bytes, as: UTF8.self)) {
            require(hash.text.utf8.count == 4 + 2 * hash.horizontal * hash.vertical, "it is as long as it says")
            require(hash.pixels(width: 5, height: 4).width == 5, "it has pixels")
            _ = hash.averageColor
        }
        for hash in [try? ThumbHash(bytes), try? ThumbHash(String(decoding: bytes, as: UTF8.self))] {
            guard let hash else { continue }
            let pixels = hash.pixels(longestSide: 6)
            require(max(pixels.width, pixels.height) == 6, "it has pixels")
            require(hash.aspectRatio > 0 && hash.aspectRatio < 8, "it has a shape")
            _ = hash.averageColor
        }
    }
}
