internal import CInflightVips
public import InflightCore

/// A part of libvips, or of a library behind it, that not every build of them has.
public enum VipsPart: String, Sendable, Hashable, CaseIterable {
    // By libvips' own names of its operations.
    case heifLoader = "heifload_buffer"
    case tiffLoader = "tiffload_buffer"
    case svgLoader = "svgload_buffer"
    case heifSaver = "heifsave_buffer"
    // Of libheif.
    case av1Decoder = "av1-decoder"
    case hevcDecoder = "hevc-decoder"
    case av1Encoder = "av1-encoder"

    private var ability: UInt32 {
        let ability =
            switch self {
            case .heifLoader: INFLIGHT_VIPS_LOADS_HEIF
            case .tiffLoader: INFLIGHT_VIPS_LOADS_TIFF
            case .svgLoader: INFLIGHT_VIPS_LOADS_SVG
            case .heifSaver: INFLIGHT_VIPS_SAVES_HEIF
            case .av1Decoder: INFLIGHT_VIPS_DECODES_AV1
            case .hevcDecoder: INFLIGHT_VIPS_DECODES_HEVC
            case .av1Encoder: INFLIGHT_VIPS_ENCODES_AV1
            }
        return UInt32(ability)
    }

    /// The parts that are here, asked for once. On any thread; it starts the library where that was not done, and where it
    /// does not start there are none. libheif loads its own parts for the answer, which takes files.
    public static let present: Set<VipsPart> = {
        guard (try? VipsDecoder.start()) != nil else { return [] }
        let abilities = inflight_vips_abilities()
        return Set(allCases.filter { abilities & $0.ability != 0 })
    }()

    /// Those that are not.
    public static var missing: Set<VipsPart> { Set(allCases).subtracting(present) }

    /// What of ``VipsDecoder/decodableFormats`` these parts suffice for.
    public static func decodableFormats(with parts: Set<VipsPart>) -> Set<ImageFormat> {
        VipsDecoder.decodableFormats.filter { parts.isSuperset(of: needed[$0] ?? []) }
    }

    /// What of ``VipsDecoder/encodableFormats`` these parts suffice for.
    public static func encodableFormats(with parts: Set<VipsPart>) -> Set<ImageFormat> {
        VipsDecoder.encodableFormats.filter { _ in parts.isSuperset(of: [.heifSaver, .av1Encoder]) }
    }

    /// libjxl is linked, and always there.
    private static let needed: [ImageFormat: Set<VipsPart>] = [
        .avif: [.heifLoader, .av1Decoder], .heic: [.heifLoader, .hevcDecoder], .tiff: [.tiffLoader], .svg: [.svgLoader],
    ]
}
