internal import CInflightVips
public import InflightImages

/// An optional component of libvips, or of a library that it uses, which not every build has.
public enum VipsPart: String, Sendable, Hashable, CaseIterable {
    /// The libvips operation that reads AVIF and HEIC with libheif.
    case heifLoader = "heifload_buffer"
    /// The libvips operation that renders SVG.
    case svgLoader = "svgload_buffer"
    /// The libvips operation that writes AVIF with libheif.
    case heifSaver = "heifsave_buffer"
    /// A decoder of libheif for AV1, which AVIF needs.
    case av1Decoder = "av1-decoder"
    /// A decoder of libheif for HEVC, which HEIC needs.
    case hevcDecoder = "hevc-decoder"
    /// An encoder of libheif for AV1, which writing AVIF needs.
    case av1Encoder = "av1-encoder"

    private var ability: UInt32 {
        let ability =
            switch self {
            case .heifLoader: INFLIGHT_VIPS_LOADS_HEIF
            case .svgLoader: INFLIGHT_VIPS_LOADS_SVG
            case .heifSaver: INFLIGHT_VIPS_SAVES_HEIF
            case .av1Decoder: INFLIGHT_VIPS_DECODES_AV1
            case .hevcDecoder: INFLIGHT_VIPS_DECODES_HEVC
            case .av1Encoder: INFLIGHT_VIPS_ENCODES_AV1
            }
        return UInt32(ability)
    }

    /// The components that are present, determined once.
    ///
    /// Any thread may read it. It starts the library if necessary, and is empty if the library cannot start. libheif
    /// loads its own components for it, which needs files.
    public static let present: Set<VipsPart> = {
        guard (try? VipsDecoder.start()) != nil else { return [] }
        let abilities = inflight_vips_abilities()
        return Set(allCases.filter { abilities & $0.ability != 0 })
    }()

    /// The components that are not ``present``: all of them if the library cannot start.
    public static var missing: Set<VipsPart> { Set(allCases).subtracting(present) }

    /// Returns the formats of ``VipsDecoder/decodableFormats`` for which these components suffice.
    public static func decodableFormats(with parts: Set<VipsPart>) -> Set<ImageFormat> {
        VipsDecoder.decodableFormats.filter { parts.isSuperset(of: needed[$0] ?? []) }
    }

    /// Returns the formats of ``VipsDecoder/encodableFormats`` for which these components suffice.
    public static func encodableFormats(with parts: Set<VipsPart>) -> Set<ImageFormat> {
        VipsDecoder.encodableFormats.filter { _ in parts.isSuperset(of: [.heifSaver, .av1Encoder]) }
    }

    /// JPEG XL and TIFF need none: libjxl and libtiff are linked and always present.
    private static let needed: [ImageFormat: Set<VipsPart>] = [
        .avif: [.heifLoader, .av1Decoder], .heic: [.heifLoader, .hevcDecoder], .svg: [.svgLoader],
    ]
}
