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
                return (.success(try LocalPicture.look(at: place, codecs: pipeline.codecs, limit: limit)), nil)
            }
            let url = try ResourceURL(place)
            let request = RequestMaker(options.network).request(place, url)
            let remote = try await pipeline.info(for: request)
            return (.success(PictureFacts(remote)), nil)
        } catch {
            return (.failure(error), error.status)
        }
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
}

extension PictureFacts {
    init(_ remote: RemoteImageInfo) {
        self.init(
            info: remote.info, bytes: remote.contentLength, readBytes: remote.readBytes, source: remote.source,
            finalURL: remote.url)
    }
}
