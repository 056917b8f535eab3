package import InflightCore

/// What a run is told about the way of a row, whether it leads to a shard or to the answer of a stream.
package struct RowConfiguration: Sendable {
    /// The window of waiting rows, the pace of hosts, and the number of requests at once.
    package var schedule = HostSchedule.Configuration()
    /// The request of each row, without its URL: limits and header fields.
    package var request = ImageRequest("")
    /// The rule by which servers opt out of the use of their images, or `nil` if it is ignored.
    package var optOut: OptOut?
    /// The images that are stored.
    package var filter = ImageFilter()
    /// How a body becomes an image.
    package var treatment: ImageTreatment
    /// The number of bytes of bodies that wait for a thread above which no request is started.
    package var maximumWaitingBytes = 64 << 20
    /// The number of threads that decode and encode.
    package var imageThreads = 2

    /// Creates a configuration with defaults for everything else.
    package init(treatment: ImageTreatment) { self.treatment = treatment }
}

/// How a body becomes an image of the output: decoded, resized and encoded again, unless its bytes are kept.
package struct ImageTreatment: Sendable {
    /// The bodies whose bytes are stored unchanged.
    package enum Keeping: Sendable {
        case none
        /// Those of the format of the output that would keep their size: upright images of one frame.
        case unchanged
        /// All that are images.
        case all
    }

    /// The size and the limits of the decode.
    package var decoding: DecodeOptions
    /// The processors, in their order.
    package var processors: [ImageProcessor]
    /// The format and the quality.
    package var encoding: EncodeOptions
    /// Whether EXIF and XMP are copied into the image.
    package var keepsMetadata: Bool
    /// The bodies whose bytes are stored unchanged.
    package var keeping = Keeping.none

    /// Creates a treatment.
    package init(
        decoding: DecodeOptions = DecodeOptions(), processors: [ImageProcessor] = [], encoding: EncodeOptions,
        keepsMetadata: Bool = false
    ) {
        self.decoding = decoding
        self.processors = processors
        self.encoding = encoding
        self.keepsMetadata = keepsMetadata
    }

    /// Returns whether the bytes of an image are stored unchanged.
    func keepsBody(of info: ImageInfo) -> Bool {
        switch keeping {
        case .all: return true
        case .none: return false
        case .unchanged:
            let (width, height) = (info.width, info.height)
            let plan = decoding.resize?.plan(sourceWidth: width, sourceHeight: height)
            let size = decoding.resize?.resultSize(sourceWidth: width, sourceHeight: height) ?? (width, height)
            return info.format == encoding.format && info.orientation == .up && info.frameCount == 1
                && !info.mayHaveMoreFrames && decoding.page == 0 && processors.isEmpty && size == (width, height)
                && (plan.map { $0.scaledWidth == width && $0.scaledHeight == height } ?? true)
        }
    }

    /// The extension of the images.
    package var imageExtension: ImageExtension {
        if case .all = keeping { .byContent } else { .fixed(encoding.format.fileExtension) }
    }
}
