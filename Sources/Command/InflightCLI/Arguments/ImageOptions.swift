import Inflight

/// The options that re-encode images, shared by `get` and `batch`.
struct ImageOptions: Equatable, Sendable {
    /// The size to resize to, without the relation that ``resize(maximumPixels:)`` adds.
    var size: OptionValue.Sides?
    /// The shortest side to resize to, instead of a size.
    var shortestSide: Int?
    var fit: Resize.Fit?
    var gravity: Resize.Gravity?
    var enlarges = false
    /// Whether images that are not larger than the size are left as they are.
    var keepsSmaller = false
    var isLinear = false
    /// The index of the page to decode, from 0; if `nil`, the first one.
    var page: Int?
    /// The processors to apply after resizing.
    var processors: [ImageProcessor] = []
    /// The output format; if `nil`, that of the source.
    var format: ImageFormat?
    /// Whether `--format` was given.
    var hasFormat = false
    var quality: Int?
    var isProgressive = false
    var isLossless = false
    /// Whether the metadata of the source is written into the encoded image.
    var keepsMetadata = false
    var background: [UInt8] = [255, 255, 255]

    /// The first given option that re-encodes the image, if any.
    var reencodingOption: String? {
        [
            (size != nil, "--size"), (shortestSide != nil, "--shortest"), (page != nil, "--page"),
            (!processors.isEmpty, "--process"),
            (hasFormat, "--format"), (quality != nil, "--quality"), (isProgressive, "--progressive"),
            (isLossless, "--lossless"),
        ].first { $0.0 }?.1
    }

    /// Returns the resize step that the options describe, if any.
    func resize(maximumPixels: Int) throws(UsageError) -> Resize? {
        if gravity != nil, fit != .cover {
            throw UsageError("--crop requires --fit cover and --size.")
        }
        if keepsSmaller, enlarges {
            throw UsageError(
                "--keep-smaller and --enlarge cannot be combined: --keep-smaller leaves smaller images as they are.")
        }
        guard let box = try box() else {
            if fit != nil { throw UsageError("--fit requires --size.") }
            if let option = [(enlarges, "--enlarge"), (isLinear, "--linear"), (keepsSmaller, "--keep-smaller")]
                .first(where: \.0)?.1
            {
                throw UsageError("\(option) requires --size or --shortest.")
            }
            return nil
        }
        let (size, fit) = box
        if enlarges || fit == .exact || fit == .pad, let width = size.width, let height = size.height,
            width * height > maximumPixels
        {
            throw UsageError(
                "--size \(width)x\(height) with \(enlarges ? "--enlarge" : "--fit \(fit.rawValue)") exceeds the limit of "
                    + "\(Quantity.grouped(maximumPixels)) pixels. Raise --max-pixels.")
        }
        return Resize(
            width: size.width, height: size.height, fit: fit, gravity: gravity ?? .center, enlarges: enlarges,
            light: isLinear ? .linear : .encoded, keepsSmaller: keepsSmaller,
            background: PixelColor(red: background[0], green: background[1], blue: background[2]))
    }

    /// Returns the size to resize to, and its fit: `--shortest N` is `--size NxN --fit outside`.
    private func box() throws(UsageError) -> (OptionValue.Sides, Resize.Fit)? {
        guard let side = shortestSide else { return size.map { ($0, fit ?? .contain) } }
        if size != nil || fit != nil {
            throw UsageError("--shortest and \(size != nil ? "--size" : "--fit") cannot be combined.")
        }
        return (OptionValue.Sides(width: side, height: side), .outside)
    }

    func checkEncoding() throws(UsageError) {
        if isLossless, format != .webp, format != .png {
            throw UsageError("--lossless requires --format webp or --format png.")
        }
        if isLossless, quality != nil { throw UsageError("--lossless and --quality cannot be combined.") }
        if keepsMetadata, format == .avif {
            throw UsageError("--keep-metadata does not support --format avif. Use jpeg, png or webp.")
        }
    }

    /// Returns the options of encoding to a format, without metadata.
    func encoding(as format: ImageFormat) -> EncodeOptions {
        var encoding = EncodeOptions(format: format, quality: quality)
        encoding.background = background
        encoding.isProgressive = isProgressive
        encoding.isLossless = isLossless
        return encoding
    }

    /// Returns the rows.
    ///
    /// - Parameter keepsFormat: Whether the format of the source may be kept.
    static func rows(keepsFormat: Bool) -> [Option<Self>] {
        [
            Option("--size WxH", "resize to fit W × H pixels; Wx and xH set one side only") {
                $0.size = try $1.size()
            },
            Option("--shortest N", "resize so that the shortest side has N pixels: --size NxN --fit outside") {
                $0.shortestSide = try $1.integer(1...65_535)
            },
            Option(
                "--fit HOW",
                "contain (default), outside (covers without a crop), pad (contain, and a border in the colour of "
                    + "--background), cover (crops), fill (distorts) or exact (distorts, and upscales smaller images)",
                OptionValue.choices()
            ) { $0.fit = $1 as Resize.Fit },
            Option(
                "--crop GRAVITY",
                "part that cover keeps: center (default), top, left, bottom-right …, or interest (most interesting part)",
                OptionValue.choices()
            ) { $0.gravity = $1 as Resize.Gravity },
            Option("--enlarge", "also upscale smaller images", \.enlarges),
            Option(
                "--keep-smaller",
                "neither crop nor pad images that are not larger than the size (cover: on both sides)",
                \.keepsSmaller),
            Option(
                "--linear", "resize in linear light, which keeps the lightness of fine detail; slower", \.isLinear),
            Option("--page N", "decode page N of a TIFF file, from 1 (default 1)") { $0.page = try $1.page() },
            Option(
                "--process STEPS",
                "apply steps in order, such as blur:4,grey (all steps: \(keepsFormat ? "below" : "inflight get --help"))",
                isRepeatable: true
            ) { $0.processors += try ProcessList.parse($1) },
        ] + encodingRows(keepsFormat)
    }

    private static func encodingRows(_ keepsFormat: Bool) -> [Option<Self>] {
        let formats: [ImageFormat?] = (keepsFormat ? [nil] : []) + [.jpeg, .png, .webp, .avif]
        let kept = "keep (default; PNG if the format cannot be encoded), "
        return [
            Option(
                "--format FORMAT",
                (keepsFormat ? kept : "format of all images, required: ") + "jpeg (or jpg), png, webp or avif",
                formats.flatMap { format in
                    [(format?.rawValue ?? "keep", format)] + (format == .jpeg ? [("jpg", format)] : [])
                }
            ) { options, format in
                options.format = format
                options.hasFormat = true
            },
            Option("--quality N", "quality, 1 to 100 (JPEG default 85, WebP 80, AVIF 60)") {
                $0.quality = try $1.integer(1...100)
            },
            Option("--progressive", "encode a progressive JPEG", \.isProgressive),
            Option("--lossless", "encode WebP losslessly; PNG always is", \.isLossless),
            Option(
                "--keep-metadata",
                "copy EXIF and XMP when re-encoding (default: omit them)",
                \.keepsMetadata),
            Option(
                "--background COLOUR",
                "colour behind transparent images that become JPEG, and of --fit pad: white (default), black or #rrggbb",
                .words(["white", "black"])
            ) { $0.background = try $1.color() },
        ]
    }
}
