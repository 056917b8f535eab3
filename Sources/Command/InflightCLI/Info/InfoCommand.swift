import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One run of `inflight info`: inspects images one after the other and prints their header information.
struct InfoCommand: Sendable {
    let options: InfoOptions
    let pipeline: ImagePipeline

    /// - Returns: The exit status.
    func run() async -> Int32 {
        var status = ExitStatus.success
        let clock = SystemClock()
        for (number, place) in options.places.enumerated() {
            let start = clock.now()
            let (result, httpStatus) = await look(place)
            let milliseconds = Int((clock.now() - start).saturatedNanoseconds / 1_000_000)
            if case .failure = result { status = ExitStatus.failure }
            do throws(StandardStream.WriteError) {
                if options.network.json {
                    let line = InfoText.json(place, result, status: httpStatus, milliseconds: milliseconds)
                    try StandardStream.output.write(line)
                } else {
                    try tell(place, result, isFirst: number == 0)
                }
            } catch {
                return error.reported()
            }
        }
        return status
    }

    private func tell(
        _ place: String, _ result: Result<ImageSummary, LoadError>, isFirst: Bool
    ) throws(StandardStream.WriteError) {
        switch result {
        case .success(let facts):
            let text = InfoText.lines(place, facts, style: Style.of(.output)).joined(separator: "\n")
            try StandardStream.output.write(Array(((isFirst ? "" : "\n") + text + "\n").utf8))
            if options.network.isVerbose {
                StandardStream.error.say("\(Self.shown(place)): \(InfoText.story(facts))\n")
            }
        case .failure(let error) where !options.network.isQuiet:
            ConsoleReporter(options.network).failed(shown: Self.shown(place), error)
        case .failure:
            break
        }
    }

    private func look(_ place: String) async -> (Result<ImageSummary, LoadError>, status: Int?) {
        do throws(LoadError) {
            let isWhole = options.wantsPlaceholder || options.wantsMetadata || options.page != nil
            guard Self.isURL(place) else {
                let limit = Int(clamping: options.network.limits.maximumBodyBytes)
                if !isWhole {
                    return (.success(try LocalImage.look(at: place, codecs: pipeline.codecs, limit: limit)), nil)
                }
                return (.success(try facts(of: try LocalImage.whole(place, limit: limit), from: .file)), nil)
            }
            var request = RequestFactory(options.network).request(place, try ResourceURL(place))
            request.verifiesStoredImage = options.wantsPlaceholder
            if !isWhole { return (.success(ImageSummary(try await pipeline.info(for: request))), nil) }
            let response = try await pipeline.response(for: request)
            var facts = try facts(of: response.body, from: response.source)
            facts.finalURL = response.url
            return (.success(facts), nil)
        } catch {
            return (.failure(error), error.status)
        }
    }

    private func facts(of bytes: Bytes, from source: LoadSource) throws(LoadError) -> ImageSummary {
        let count = Int64(bytes.count)
        var facts = ImageSummary(
            info: try pipeline.codecs.info(of: bytes, page: options.page ?? 0), bytes: count, readBytes: count,
            source: source)
        facts.page = options.page
        if facts.info.frameCount > 1 { facts.animation = LocalImage.animation(bytes, pipeline.codecs) }
        if options.wantsMetadata { facts.metadata = try pipeline.codecs.metadata(of: bytes) }
        if options.wantsPlaceholder {
            // More pixels do not improve a placeholder.
            var decoding = DecodeOptions(resize: Resize(width: 100, height: 100))
            decoding.maximumPixels = options.network.limits.maximumPixels
            decoding.page = options.page ?? 0
            facts.placeholder = Placeholder(
                try pipeline.codecs.decode(bytes, options: decoding, cancellation: CancellationFlag()).0)
        }
        return facts
    }

    /// Returns the URL or path as displayed to people.
    static func shown(_ place: String) -> String {
        isURL(place) ? ConsoleReporter.shown(place) : ConsoleReporter.shown(name: place)
    }

    /// Returns whether the text is a URL: a scheme followed by `://`, or `data:` or `file:`. Everything else is a file.
    static func isURL(_ place: String) -> Bool {
        guard let colon = place.firstIndex(of: ":") else { return false }
        let scheme = place[..<colon]
        guard let first = scheme.first, first.isASCII, first.isLetter,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
        else { return false }
        return place[colon...].hasPrefix("://") || ["data", "file"].contains(scheme.lowercased())
    }
}

/// The facts that are known about an image without decoding it, and its placeholders, if requested.
struct ImageSummary: Sendable {
    var info: ImageInfo
    /// The size of the whole file in bytes, if known.
    var bytes: Int64?
    var readBytes: Int64
    var source: LoadSource
    var finalURL: String?
    /// The index of the page that the facts are about, from 0, if one was requested.
    var page: Int?
    var placeholder: Placeholder?
    var metadata: ImageMetadata?
    /// The animation of a file with several frames, if all of the file was read.
    var animation: AnimatedImage.Info?
}

/// The placeholders of an image, shown until it is loaded.
struct Placeholder: Sendable {
    var blurHash: String
    var thumbHash: String
    var dominantColor: String

    init(_ pixels: PixelBuffer) {
        let isWide = pixels.width >= pixels.height
        blurHash = BlurHash(pixels, horizontal: isWide ? 4 : 3, vertical: isWide ? 3 : 4).text
        thumbHash = ThumbHash(pixels).text
        dominantColor = pixels.dominantColor.description
    }
}

extension ImageSummary {
    init(_ remote: RemoteImageInfo) {
        self.init(
            info: remote.info, bytes: remote.contentLength, readBytes: remote.readBytes, source: remote.source,
            finalURL: remote.url)
    }
}
