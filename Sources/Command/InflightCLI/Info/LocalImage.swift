import Inflight
import InflightCore

/// Reads the header of a file, and no more bytes than necessary. An animation is read completely, to count its frames
/// and to measure its duration.
enum LocalImage {
    private static let firstRead = 64 * 1024

    /// - Parameter limit: The maximum number of bytes to read.
    static func look(at path: String, codecs: CodecRegistry, limit: Int) throws(LoadError) -> ImageSummary {
        let file = try reading(path) { () throws(SystemError) in try LocalFile(path) }
        let limit = min(file.size, limit)
        var wanted = min(limit, firstRead)
        while true {
            let bytes = try reading(path) { () throws(SystemError) in try file.read(wanted) }
            let isComplete = bytes.count < wanted || wanted >= file.size
            switch try codecs.probe(bytes, isComplete: isComplete) {
            case .info(let info):
                let mayBeRead = limit == file.size || info.mayHaveMoreFrames
                if info.frameCount > 1 || info.mayHaveMoreFrames, mayBeRead, wanted < limit {
                    wanted = limit
                    continue
                }
                var facts = ImageSummary(
                    info: info, bytes: Int64(file.size), readBytes: Int64(bytes.count), source: .file)
                if info.frameCount > 1, bytes.count == file.size { facts.animation = animation(bytes, codecs) }
                return facts
            case .needsMoreBytes(let count):
                guard !isComplete else {
                    throw LoadError(
                        .damaged, stage: .decode,
                        message: "The image is truncated within its header. Use a complete copy of the file.")
                }
                guard wanted < limit else {
                    throw LoadError(
                        .tooLarge, stage: .decode,
                        message: "The image header exceeds the limit of \(limit) bytes. "
                            + "Raise --max-bytes if you trust the file.")
                }
                // At least doubled each time, so that the total number of bytes read is proportional to those needed.
                wanted = min(limit, max(count, wanted * 2))
            }
        }
    }

    /// Returns the animation information of a complete file, or `nil` if it is unavailable. Nothing is decoded, so no
    /// pixel limit is needed.
    static func animation(_ bytes: Bytes, _ codecs: CodecRegistry) -> AnimatedImage.Info? {
        var options = DecodeOptions()
        options.maximumPixels = .max
        options.maximumAnimationPixels = .max
        return try? codecs.animation(of: bytes, options: options).info
    }

    /// Returns all bytes of a file.
    static func whole(_ path: String, limit: Int) throws(LoadError) -> Bytes {
        let file = try reading(path) { () throws(SystemError) in try LocalFile(path) }
        guard file.size <= limit else {
            throw LoadError(
                .tooLarge, stage: .decode,
                message: "The file of \(file.size) bytes exceeds the limit of \(limit) bytes. "
                    + "Raise --max-bytes if you trust the file.")
        }
        return try reading(path) { () throws(SystemError) in try file.read(file.size) }
    }

    private static func reading<Value>(
        _ path: String, _ body: () throws(SystemError) -> Value
    ) throws(LoadError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw LoadError(
                .cannotRead, stage: .fetch, message: "Cannot read \(path): \(error.text). Check the path.",
                underlying: error)
        }
    }
}
