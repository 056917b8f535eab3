internal import CInflightCodecs
import InflightImages

/// The chunks that say what the samples of a PNG mean as colours (PNG specification, third edition, section 4.3). Of
/// several chunks of one kind, the first is used; those after the palette are ignored.
struct PNGColor {
    /// Colours by number, if all numbers are known.
    private var coded: CodedColor?
    /// The name and the compressed data of the profile.
    private var profile: Range<Int>?
    private var isSRGB = false
    private var gamma: Int?
    private var chromaticities: [Double]?

    var primaries: Int? { coded.map { Int($0.primaries) } }

    /// Reads a chunk with the correct checksum.
    mutating func read(_ bytes: Bytes, _ content: Range<Int>) {
        let start = content.lowerBound
        func isNamed(_ name: StaticString) -> Bool { bytes.has(name, at: start - 4) }
        if isNamed("cICP"), coded == nil, content.count == 4, bytes[start + 2] == 0, bytes[start + 3] <= 1 {
            coded = CodedColor(
                primaries: bytes[start], transfer: bytes[start + 1], isFullRange: bytes[start + 3] == 1)
        } else if isNamed("iCCP"), profile == nil {
            profile = content
        } else if isNamed("sRGB"), content.count == 1 {
            isSRGB = true
        } else if isNamed("gAMA"), gamma == nil, content.count == 4 {
            gamma = bytes.big32(at: start)
        } else if isNamed("cHRM"), chromaticities == nil, content.count == 32 {
            chromaticities = (0..<8).compactMap { bytes.big32(at: start + 4 * $0) }.map { Double($0) / 100_000 }
        }
    }

    /// Whether the points are on the diagram of colours, and the primaries form a triangle there.
    private static func arePlausible(_ points: [Double]) -> Bool {
        let x = stride(from: 0, to: 8, by: 2).map { points[$0] }
        let y = stride(from: 1, to: 8, by: 2).map { points[$0] }
        let area = (x[2] - x[1]) * (y[3] - y[1]) - (x[3] - x[1]) * (y[2] - y[1])
        return zip(x, y).allSatisfy { $0 + $1 <= 1 } && y[0] >= 0.1 && abs(area) >= 0.01
    }

    /// The name of the profile: Latin-1, without control characters.
    func profileName(in bytes: Bytes) -> String? {
        guard let profile else { return nil }
        let name = profile.prefix(80).prefix { bytes[$0] != 0 }.map { bytes[$0] }
        let scalars = name.filter { $0 >= 0x20 && !(0x7F...0x9F).contains($0) }.map { Unicode.Scalar($0) }
        return scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
    }

    /// Returns the transform of the image's colours to sRGB, or nil if none is needed.
    func transform(in bytes: Bytes, isGray: Bool, bitDepth: Int) -> ColorTransform? {
        let isDeep = bitDepth == 16
        if let coded { return coded.transform(bitDepth: bitDepth) }
        if let profile {
            return decompressed(profile, in: bytes).flatMap {
                ColorTransform.forProfile($0, kind: isGray ? (isDeep ? .deepGray : .gray) : (isDeep ? .deepRGB : .rgb))
            }
        }
        guard !isSRGB, let gamma, (5_001..<500_000).contains(gamma) else { return nil }
        // Programs that mean sRGB write a gamma of 1 / 2.2 without primaries. If there are primaries, browsers use both
        // values.
        if chromaticities == nil, (43_455...47_454).contains(gamma) { return nil }
        let points = chromaticities ?? CodedColor.sRGB
        guard Self.arePlausible(points) else { return nil }
        return ColorTransform.forPrimaries(
            points, curve: [100_000 / Double(gamma), 1, 0, 0, 0, 0, 0],
            kind: isDeep ? .deepRGB : .rgb)
    }

    /// Returns the content of an `iCCP` chunk, or nil if it is malformed or too large.
    private func decompressed(_ content: Range<Int>, in bytes: Bytes) -> Bytes? {
        guard let end = content.prefix(80).first(where: { bytes[$0] == 0 }), end + 2 < content.upperBound,
            bytes[end + 1] == 0
        else { return nil }
        let data = bytes.part(end + 2..<content.upperBound)
        // A profile begins with its size (ICC.1 section 7.2.2).
        guard let count = inflated(data, to: 4)?.big32(at: 0), count >= 4, count <= ICCProfile.maximumCount else {
            return nil
        }
        return inflated(data, to: count)
    }

    /// Returns the first `count` bytes of zlib data, or nil if there are not as many.
    private func inflated(_ data: Bytes, to count: Int) -> Bytes? {
        let memory = unsafe [UInt8](unsafeUninitializedCapacity: count) { target, written in
            unsafe data.withUnsafeBytes { source in
                guard let base = source.baseAddress, let start = target.baseAddress else { return }
                _ = unsafe inflight_inflate(
                    base.assumingMemoryBound(to: UInt8.self), source.count, start, count, &written)
            }
        }
        return memory.count == count ? Bytes(memory) : nil
    }
}

/// Colours by the numbers of ITU-T H.273 (tables 2 and 3), as a `cICP` chunk names them.
struct CodedColor {
    static let sRGB = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]

    let primaries: UInt8
    /// The x and y of white, red, green and blue.
    private let chromaticities: [Double]
    /// The parameters of the curve that decodes to linear light; nil for that of sRGB.
    private let curve: [Double]?
    private let isFullRange: Bool

    /// Returns nil if a number is unknown or unspecified, or names an HDR curve, whose colours only tone mapping could
    /// show.
    init?(primaries: UInt8, transfer: UInt8, isFullRange: Bool) {
        let (illuminantC, d65) = ([0.310, 0.316], [0.3127, 0.3290])
        switch primaries {
        case 1: chromaticities = Self.sRGB
        case 4: chromaticities = illuminantC + [0.67, 0.33, 0.21, 0.71, 0.14, 0.08]
        case 5: chromaticities = d65 + [0.64, 0.33, 0.29, 0.60, 0.15, 0.06]
        case 6, 7: chromaticities = d65 + [0.630, 0.340, 0.310, 0.595, 0.155, 0.070]
        case 8: chromaticities = illuminantC + [0.681, 0.319, 0.243, 0.692, 0.145, 0.049]
        case 9: chromaticities = d65 + [0.708, 0.292, 0.170, 0.797, 0.131, 0.046]
        case 11: chromaticities = [0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
        case 12: chromaticities = d65 + [0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
        case 22: chromaticities = d65 + [0.630, 0.340, 0.295, 0.605, 0.155, 0.077]
        default: return nil
        }
        switch transfer {
        case 1, 6, 11, 12, 14, 15: curve = [1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081, 0, 0]
        case 4: curve = [2.2, 1, 0, 0, 0, 0, 0]
        case 5: curve = [2.8, 1, 0, 0, 0, 0, 0]
        case 7: curve = [1 / 0.45, 1 / 1.1115, 0.1115 / 1.1115, 1 / 4, 0.0912, 0, 0]
        case 8: curve = [1, 1, 0, 1, 0, 0, 0]
        case 13: curve = nil
        default: return nil
        }
        self.primaries = primaries
        self.isFullRange = isFullRange
    }

    /// Returns the transform to sRGB, or nil if none is needed.
    func transform(bitDepth: Int) -> ColorTransform? {
        if primaries == 1, curve == nil, isFullRange { return nil }
        var curve = curve ?? [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045, 0, 0]
        if !isFullRange {
            // Black is 16 and white 235, in the upper eight bits (ITU-T H.273 section 8.3).
            let unit = Double(1 << max(0, bitDepth - 8)) / (bitDepth == 16 ? 65_535 : 255)
            let (scale, offset) = (1 / (219 * unit), 16.0 / 219)
            curve[2] -= curve[1] * offset
            curve[1] *= scale
            curve[6] -= curve[3] * offset
            curve[3] *= scale
            curve[4] = (curve[4] + offset) / scale
        }
        return ColorTransform.forPrimaries(
            chromaticities, curve: curve, kind: bitDepth == 16 ? .deepRGB : .rgb)
    }
}
