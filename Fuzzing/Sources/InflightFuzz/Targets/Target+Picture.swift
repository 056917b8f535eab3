import InflightCodecs
import InflightConcurrency
import InflightCore

@testable import InflightImages

extension Target {
    private static let codecs = CodecRegistry(Codecs.standard)

    /// Files of one format: header, structure, metadata, pixels and animation.
    static func picture(_ format: ImageFormat) -> Target {
        Target(name: format.rawValue) { array in
            let bytes = Bytes(array)
            // Use this format's codec, whatever the input's signature.
            guard let codec = Codecs.standard.first(where: { $0.decodableFormats.contains(format) }) else {
                return require(false, "a codec decodes the format")
            }
            let info = probe(codec, bytes, format)
            let half = Bytes(Array(array.prefix(array.count / 2)))
            if let part = try? codec.probe(half, format: format, isComplete: false) {
                switch part {
                case .needsMoreBytes(let count): require(count > half.count, "the probe needs more bytes than it has")
                case .info(let early):
                    // A probe of an animation reads all frames, so later bytes may still make it damaged.
                    guard let info else {
                        return require(early.mayHaveMoreFrames, "if only the prefix is valid, it is an animation")
                    }
                    require(
                        early.storedWidth == info.storedWidth && early.storedHeight == info.storedHeight,
                        "a prefix has the size of the whole")
                }
            }
            if let metadata = try? codec.metadata(bytes, format: format) { look(metadata) }
            try? codec.validate(bytes, format: format)
            for resize in [nil, Resize(width: 7, height: 5, fit: .cover)] {
                decode(codec, bytes, format, info, resize)
                reencode(codec, bytes, format, info, resize)
                decodePart(codec, half, format, resize)
                decodePart(codec, bytes, format, resize)
            }
            _ = try? codecs.info(of: bytes)
            animate(codec, bytes, format)
        }
    }

    /// Decodes as much as possible of a truncated or damaged file.
    private static func decodePart(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ resize: Resize?) {
        var options = DecodeOptions(resize: resize)
        options.maximumPixels = 100_000
        do throws(LoadError) {
            guard case .info(let info)? = try? codec.probe(bytes, format: format, isComplete: false) else { return }
            let needed = codec.memoryNeeded(bytes, format: format, info: info, options: options)
            require(needed >= 0, "the memory estimate is not negative")
            guard
                let part = try codec.decodePart(
                    bytes, format: format, options: options, beyond: 0, cancellation: CancellationFlag())
            else { return }
            let plan = (resize ?? Resize()).plan(sourceWidth: info.width, sourceHeight: info.height)
            require(part.pixels.width == plan.width && part.pixels.height == plan.height, "a part has the full size")
            require(part.detail > 0, "a partial image has some detail")
            require(part.coversAll || part.pixels.format.alpha != .opaque, "missing pixels are transparent")
            _ = part.pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels]
            require(known.contains(error.code), "\(error.code) is an error of decoders")
        }
    }

    /// Composes the first, the last and the second frame of an animation, in this order.
    private static func animate(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat) {
        var options = DecodeOptions(resize: Resize(width: 11))
        options.maximumPixels = 20_000
        options.maximumFrames = 40
        options.maximumAnimationPixels = 200_000
        do throws(LoadError) {
            guard let source = try codec.animation(bytes, format: format, options: options) else { return }
            require(!source.frames.isEmpty && source.frames.count <= 40, "an animation has 1 to 40 frames")
            require(source.loopCount.map { $0 > 0 } ?? true, "an animation plays at least once")
            let composer = try FrameComposer(source, options: options)
            let plan = Resize(width: 11).plan(sourceWidth: source.info.width, sourceHeight: source.info.height)
            for index in [0, source.frames.count - 1, min(1, source.frames.count - 1)] {
                require(source.frames[index].duration >= .milliseconds(11), "a frame is shown for at least 11 ms")
                let pixels = try composer.frame(at: index, cancellation: CancellationFlag())
                let isPlanned = pixels.width == plan.width && pixels.height == plan.height
                require(isPlanned, "a frame has the planned size")
                _ = pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
            }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels, .tooManyFrames]
            require(known.contains(error.code), "\(error.code) is an expected error")
        }
    }

    private static func look(_ metadata: ImageMetadata) {
        _ = metadata.xmp
        guard let exif = metadata.exif else { return }
        require(exif.fields.count <= 1000, "EXIF has at most 1,000 fields")
        require(exif.fields.allSatisfy { $0.value.description.utf8.count <= 20_000 }, "EXIF values are bounded")
        if let place = exif.location {
            require(abs(place.latitude) <= 90 && abs(place.longitude) <= 180, "latitude and longitude are in range")
        }
    }

    private static func probe(_ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat) -> ImageInfo? {
        guard case .info(let info)? = try? codec.probe(bytes, format: format, isComplete: true) else { return nil }
        require(info.storedWidth > 0 && info.storedHeight > 0, "a header has a size")
        require(info.frameCount > 0, "a header has a frame")
        require(info.profileName.map { $0.count <= 128 } ?? true, "a profile name is short")
        return info
    }

    private static func decode(
        _ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ info: ImageInfo?, _ resize: Resize?
    ) {
        var options = DecodeOptions(resize: resize)
        options.maximumPixels = 100_000
        do throws(LoadError) {
            let pixels = try codec.decode(bytes, format: format, options: options, cancellation: CancellationFlag())
            guard let info else { return require(false, "a decoded image has a header") }
            let plan = (resize ?? Resize()).plan(sourceWidth: info.width, sourceHeight: info.height)
            let isPlanned = pixels.width == plan.width && pixels.height == plan.height
            require(isPlanned, "the pixels have the planned size")
            require(info.storedWidth * info.storedHeight <= 100_000, "the image is within the pixel limit")
            // Read every byte, so that the address sanitizer checks the buffer.
            _ = pixels.bytes.array.reduce(0) { $0 &+ Int($1) }
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels]
            require(known.contains(error.code), "\(error.code) is an error of decoders")
            require(error.stage == .decode && !error.message.isEmpty, "an error has a stage and a message")
        }
    }

    /// Makes another file of an image in one step, if the codec can.
    private static func reencode(
        _ codec: any ImageCodec, _ bytes: Bytes, _ format: ImageFormat, _ info: ImageInfo?, _ resize: Resize?
    ) {
        var options = DecodeOptions(resize: resize)
        options.maximumPixels = 100_000
        do throws(LoadError) {
            let file = try codec.reencode(
                bytes, format: format, decoding: options, encoding: EncodeOptions(format: format),
                cancellation: CancellationFlag())
            guard let file else { return }
            guard let info else { return require(false, "an encoded image has a header") }
            let plan = (resize ?? Resize()).plan(sourceWidth: info.width, sourceHeight: info.height)
            let made = try codec.decode(
                file, format: format, options: DecodeOptions(), cancellation: CancellationFlag())
            require(made.width == plan.width && made.height == plan.height, "the file has the planned size")
        } catch {
            let known: [LoadError.Code] = [.damaged, .unsupportedFormat, .tooManyPixels]
            require(known.contains(error.code), "\(error.code) is an error of decoders")
        }
    }

    /// BlurHash and ThumbHash strings.
    static let placeholder = Target(name: "placeholder") { bytes in
        if let hash = try? BlurHash(String(decoding: bytes, as: UTF8.self)) {
            require(hash.text.utf8.count == 4 + 2 * hash.horizontal * hash.vertical, "a BlurHash has the right length")
            require(hash.pixels(width: 5, height: 4).width == 5, "a BlurHash has pixels")
            _ = hash.averageColor
        }
        for hash in [try? ThumbHash(bytes), try? ThumbHash(String(decoding: bytes, as: UTF8.self))] {
            guard let hash else { continue }
            let pixels = hash.pixels(longestSide: 6)
            require(max(pixels.width, pixels.height) == 6, "a ThumbHash has pixels")
            require(hash.aspectRatio > 0 && hash.aspectRatio < 8, "an aspect ratio is between 0 and 8")
            _ = hash.averageColor
        }
    }
}
