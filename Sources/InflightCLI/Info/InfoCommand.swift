import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One `inflight info`: looks at pictures one after the other and says what their headers say.
struct InfoCommand: Sendable {
    let options: InfoOptions
    let pipeline: ImagePipeline

    /// - Returns: the exit status.
    func run() async -> Int32 {
        var status = CommandLineTool.ExitStatus.success
        let clock = SystemClock()
        for (number, place) in options.places.enumerated() {
            let start = clock.now()
            let (result, httpStatus) = await look(place)
            let milliseconds = Int((clock.now() - start).saturatedNanoseconds / 1_000_000)
            if case .failure = result { status = CommandLineTool.ExitStatus.failure }
            do throws(StandardStream.WriteError) {
                if options.network.json {
                    let line = InfoText.json(place, result, status: httpStatus, milliseconds: milliseconds)
                    try StandardStream.output.write(line)
                } else {
                    try tell(place, result, isFirst: number == 0)
                }
            } catch {
                return CommandLineTool.status(ofOutputLost: error)
            }
        }
        return status
    }

    private func tell(
        _ place: String, _ result: Result<PictureFacts, LoadError>, isFirst: Bool
    ) throws(StandardStream.WriteError) {
        switch result {
        case .success(let facts):
            let text = InfoText.lines(place, facts, style: Style.of(.output)).joined(separator: "\n")
            try StandardStream.output.write(Array(((isFirst ? "" : "\n") + text + "\n").utf8))
            if options.network.isVerbose {
                StandardStream.error.say("\(Self.shown(place)): \(InfoText.story(facts))\n")
            }
        case .failure(let error) where !options.network.isQuiet:
            Narrator(options.network).failed(shown: Self.shown(place), error)
        case .failure:
            break
        }
    }

    private func look(_ place: String) async -> (Result<PictureFacts, LoadError>, status: Int?) {
        do throws(LoadError) {
            guard Self.isURL(place) else {
                let limit = Int(clamping: options.network.maximumBytes)
                var facts = try LocalPicture.look(at: place, codecs: pipeline.codecs, limit: limit)
                if options.wantsPlaceholder {
                    let pixels = try LocalPicture.decode(
                        place, codecs: pipeline.codecs, limit: limit, options: Self.placeholderOptions(options.network))
                    facts.placeholder = Placeholder(pixels)
                }
                return (.success(facts), nil)
            }
            let url = try ResourceURL(place)
            var request = RequestMaker(options.network).request(place, url)
            guard options.wantsPlaceholder else {
                return (.success(PictureFacts(try await pipeline.info(for: request))), nil)
            }
            request.resize = Self.placeholderOptions(options.network).resize
            let image = try await pipeline.image(for: request)
            return (.success(PictureFacts(image)), nil)
        } catch {
            return (.failure(error), error.status)
        }
    }

    /// More pixels make no placeholder better.
    private static func placeholderOptions(_ network: NetworkOptions) -> DecodeOptions {
        var options = DecodeOptions(resize: Resize(width: 100, height: 100))
        options.maximumPixels = network.maximumPixels
        return options
    }

    /// What was asked for, as it is told to people.
    static func shown(_ place: String) -> String {
        isURL(place) ? Narrator.shown(place) : Narrator.shown(name: place)
    }

    /// `scheme:` with what looks like a URL behind it; everything else is a file.
    static func isURL(_ place: String) -> Bool {
        guard let colon = place.firstIndex(of: ":") else { return false }
        let scheme = place[..<colon]
        guard let first = scheme.first, first.isASCII, first.isLetter,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
        else { return false }
        return place[colon...].hasPrefix("://") || ["data", "file"].contains(scheme.lowercased())
    }
}

/// What is known of a picture without decoding it.
struct PictureFacts: Sendable {
    var info: ImageInfo
    /// Of the whole file, where that is known.
    var bytes: Int64?
    var readBytes: Int64
    var source: LoadSource
    var finalURL: String?
    var placeholder: Placeholder?
    /// Of a local file with several frames.
    var animation: AnimationInfo?
}

/// What stands for a picture until it is there.
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

extension PictureFacts {
    init(_ remote: RemoteImageInfo) {
        self.init(
            info: remote.info, bytes: remote.contentLength, readBytes: remote.readBytes, source: remote.source,
            finalURL: remote.url)
    }

    init(_ image: LoadedImage) {
        self.init(
            info: image.info, bytes: image.bodyBytes, readBytes: image.bodyBytes, source: image.source,
            finalURL: image.url, placeholder: Placeholder(image.pixels))
    }
}
