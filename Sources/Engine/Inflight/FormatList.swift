internal import InflightCodecs
import InflightCore
import InflightWorker

/// Builds the list of formats from the capabilities that decoders report.
struct FormatList {
    typealias Answer = Result<DecoderCapabilities, LoadError>

    let decoding: DecodeIsolation
    let drawsSVG: Bool
    /// The capabilities of the decoder for formats that the program can also decode itself; nil if it is not used.
    let usual: Answer?
    /// The capabilities of the decoder for the other formats; nil if it is not used.
    let vips: Answer?

    var formats: [FormatSupport] { Self.own.map(own) + Self.isolated.map(isolated) }

    private static let own: [(format: ImageFormat, library: String)] = [
        (.jpeg, "libjpeg-turbo"), (.png, "libpng"), (.webp, "libwebp"), (.gif, "Inflight"), (.bmp, "Inflight"),
        (.ico, "Inflight"),
    ]
    private static let isolated: [(format: ImageFormat, library: String)] = [
        (.avif, "libheif (libvips)"), (.heic, "libheif (libvips)"), (.jpegXL, "libjxl"),
        (.tiff, "libtiff (libvips)"), (.svg, "librsvg (libvips)"),
    ]

    /// Returns the support for a linked format, which can be absent only if everything is decoded in decoder processes.
    private func own(_ format: ImageFormat, _ library: String) -> FormatSupport {
        let codec = Codecs.standard.first { $0.decodableFormats.contains(format) }
        let animates: Set<ImageFormat> = [.gif, .webp, .png]
        var support = FormatSupport(
            format: format, decoding: .present(library: library, .inProgram), animation: .none, preview: .none,
            encoding: .none)
        if animates.contains(format), decoding != .worker { support.animation = support.decoding }
        // The program's own pixels are trusted, so they are encoded in the program.
        if codec?.encodableFormats.contains(format) == true { support.encoding = support.decoding }
        if let usual {
            support.decoding = ability(usual, library) {
                $0.decodes.contains(format)
            } absent: { _ in
                .absent(reason: "the installed decoder does not support it", package: nil)
            }
        }
        if [.jpeg, .png, .webp, .gif].contains(format) { support.preview = support.decoding }
        return support
    }

    private func isolated(_ format: ImageFormat, _ library: String) -> FormatSupport {
        var support = FormatSupport(
            format: format, decoding: .none, animation: .none, preview: .none, encoding: .none)
        guard let vips else {
            support.decoding = .absent(
                reason: "it needs a decoder process, and images are decoded in this process only", package: nil)
            // The AVIF codec encodes only with a decoder process.
            if format == .avif { support.encoding = support.decoding }
            return support
        }
        support.decoding = ability(vips, library) {
            $0.decodes.contains(format)
        } absent: { capabilities in
            Self.gap(capabilities.missing, among: Self.decodingParts[format] ?? [])
        }
        if format == .avif {
            support.encoding = ability(vips, library) {
                $0.encodes.contains(format)
            } absent: { capabilities in
                Self.gap(capabilities.missing, among: [Self.heifSaver, Self.av1Encoder])
            }
        }
        if format == .svg, !drawsSVG, case .present = support.decoding {
            support.decoding = .absent(
                reason: "\(library) is installed, but SVG rendering is off: enable it with drawsSVG",
                package: nil)
        }
        return support
    }

    private func ability(
        _ answer: Answer, _ library: String, isThere: (DecoderCapabilities) -> Bool,
        absent: (DecoderCapabilities) -> FormatSupport.Ability
    ) -> FormatSupport.Ability {
        switch answer {
        case .success(let capabilities):
            isThere(capabilities) ? .present(library: library, .inDecoder) : absent(capabilities)
        case .failure(let error):
            .absent(reason: error.message, package: nil)
        }
    }

    // MARK: Missing parts

    /// A missing part: its name as the decoder reports it, and its Debian package. The package is `libvips-dev`, as in
    /// `Scripts/deps.sh`, because the name of the library's own package changes with its version.
    private struct Part {
        let name: String
        let reason: String
        let package: String
    }

    private static func vips(_ operation: String) -> Part {
        Part(name: operation, reason: "libvips has no \(operation)", package: "libvips-dev")
    }

    private static let heifSaver = vips("heifsave_buffer")
    private static let av1Encoder = Part(
        name: "av1-encoder", reason: "libheif has no AV1 encoder", package: "libheif-plugin-aomenc")
    private static let decodingParts: [ImageFormat: [Part]] = [
        .avif: [
            vips("heifload_buffer"),
            Part(name: "av1-decoder", reason: "libheif has no AV1 decoder", package: "libheif-plugin-dav1d"),
        ],
        .heic: [
            vips("heifload_buffer"),
            Part(name: "hevc-decoder", reason: "libheif has no HEVC decoder", package: "libheif-plugin-libde265"),
        ],
        .svg: [vips("svgload_buffer")],
    ]

    private static func gap(_ missing: [String], among parts: [Part]) -> FormatSupport.Ability {
        guard let part = parts.first(where: { missing.contains($0.name) }) else {
            return .absent(
                reason: "inflight-decoder-vips is not installed beside inflight-decoder",
                package: "inflight-decoder-vips")
        }
        return .absent(reason: part.reason, package: part.package)
    }
}
