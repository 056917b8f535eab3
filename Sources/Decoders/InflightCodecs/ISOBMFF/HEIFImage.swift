import InflightImages

/// An image of a HEIF file and the images that it consists of: items, or the first sample of a track.
struct HEIFImage {
    struct Part {
        /// The four characters of its type, as a number.
        var type: Int
        /// In the listed order.
        var properties: [HEIFBox]
        /// The locations of its bytes, which may be outside the file.
        var extents: [Range<Int>]
        /// The parts that this one consists of, as indices.
        var sources: [Int] = []
        /// The size, if it is not a property.
        var size: (width: Int, height: Int)?
    }

    /// The image itself, followed by all that it consists of, directly or not.
    private(set) var parts: [Part]

    /// The image whose codec describes the samples: the first tile of a grid.
    var coded: Part {
        var part = parts[0]
        while let first = part.sources.first { part = parts[first] }
        return part
    }

    init(_ part: Part) {
        parts = [part]
    }

    /// - Throws: ``LoadError/Code/unsupportedFormat`` if a codec or a kind of composition is not supported.
    init(_ items: HEIFItems, _ item: Int, _ extents: [Int: [Range<Int>]]) throws(LoadError) {
        parts = []
        var indices: [Int: Int] = [:]
        _ = try add(item, items, extents, &indices, depth: 0)
    }

    /// Joins the alpha images of a grid's tiles as the same grid.
    init(alphaOfTiles alphas: [Int], of grid: Part, _ items: HEIFItems, _ extents: [Int: [Range<Int>]])
        throws(LoadError)
    {
        let isSize = { (box: HEIFBox) in box.has("ispe", items.bytes) }
        parts = [Part(type: grid.type, properties: grid.properties.filter(isSize), extents: grid.extents)]
        var indices: [Int: Int] = [:]
        for alpha in alphas {
            let index = try add(alpha, items, extents, &indices, depth: 1)
            parts[0].sources.append(index)
        }
    }

    private static let deepest = 4
    private static let coded: Set<Int> = [code("av01"), code("hvc1")]
    private static let composed: Set<Int> = [code("grid"), code("iden"), code("iovl")]

    static func code(_ type: StaticString) -> Int {
        (0..<4).reduce(0) { unsafe $0 << 8 | Int(type.utf8Start[$1]) }
    }

    private mutating func add(
        _ item: Int, _ items: HEIFItems, _ extents: [Int: [Range<Int>]], _ indices: inout [Int: Int], depth: Int
    ) throws(LoadError) -> Int {
        if let index = indices[item] { return index }
        guard let type = items.types[item] else {
            throw CodecError.damaged(items.format, "image \(item) does not exist")
        }
        try Self.checkType(type, items.format)
        let index = parts.count
        parts.append(Part(type: type, properties: items.properties(of: item), extents: extents[item] ?? []))
        if Self.composed.contains(type) {
            // Also ends a composition that contains itself.
            guard depth < Self.deepest else {
                throw CodecError.unsupported(items.format, "images composed of others more than \(Self.deepest) deep")
            }
            let sources = items.sources[item] ?? []
            guard !sources.isEmpty else {
                throw CodecError.damaged(items.format, "image \(item) is composed of no images")
            }
            var found: [Int] = []
            for source in sources {
                found.append(try add(source, items, extents, &indices, depth: depth + 1))
            }
            parts[index].sources = found
        }
        indices[item] = index
        return index
    }

    static func checkType(_ type: Int, _ format: ImageFormat) throws(LoadError) {
        guard !coded.contains(type), !composed.contains(type) else { return }
        let name = String(decoding: (0..<4).map { UInt8(type >> (24 - 8 * $0) & 0xFF) }, as: UTF8.self)
        let known = [
            "unci": "uncompressed samples", "jpeg": "JPEG", "avc1": "H.264", "vvc1": "H.266", "j2k1": "JPEG 2000",
            "hev1": "HEVC with parameters in the samples", "uncv": "uncompressed samples", "tmap": "a tone map",
            "mski": "a mask",
        ]
        let isText = name.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) }
        let what = known[name].map { "\(name), \($0)" } ?? (isText ? name : "an unknown codec")
        throw CodecError.unsupported(format, "its codec is \(what). Supported: av01 (AV1) and hvc1 (HEVC)")
    }
}
