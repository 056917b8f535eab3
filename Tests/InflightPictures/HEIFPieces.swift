/// HEIF files built by hand: their boxes, without pixels that could be decoded.
package struct HEIFPieces {
    package var brands = ["avif", "mif1"]
    package var primary = 1
    /// The type of the image, followed by those of further items.
    package var types = ["av01"]
    package var properties: [[UInt8]] = [size(16, 12)]
    /// The properties of each item, by their numbers from one.
    package var associations = [[1]]
    /// The type of each reference, its source item and its target items.
    package var references: [(String, Int, [Int])] = []
    package var data = [UInt8](repeating: 7, count: 10)
    /// The bytes between the first box and `meta`.
    package var front: [UInt8] = []
    package var behind: [UInt8] = []
    /// The number added to the offset of the items in `iloc`.
    package var shift = 0

    package init() {}

    package static func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Pieces.big32(content.count + 8) + Array(name.utf8) + content
    }

    package static func full(_ name: String, version: Int = 0, _ content: [UInt8]) -> [UInt8] {
        box(name, Pieces.big32(version << 24) + content)
    }

    package static func size(_ width: Int, _ height: Int) -> [UInt8] {
        full("ispe", Pieces.big32(width) + Pieces.big32(height))
    }

    package static func rotated(_ angle: Int) -> [UInt8] { box("irot", [UInt8(angle)]) }
    package static func mirrored(_ axis: Int) -> [UInt8] { box("imir", [UInt8(axis)]) }

    /// The configuration of AV1: 8, 10 or 12 bits, grey or colour.
    package static func codec(bits: Int, isGray: Bool = false) -> [UInt8] {
        let depth: UInt8 = bits == 8 ? 0 : bits == 10 ? 0x40 : 0x60
        return box("av1C", [0x81, 0, depth | (isGray ? 0x10 : 0), 0])
    }

    package static func auxiliary(_ name: String) -> [UInt8] { full("auxC", Array(name.utf8) + [0]) }

    /// A clean aperture in whole pixels.
    package static func aperture(_ width: Int, _ height: Int) -> [UInt8] {
        box("clap", [width, 1, height, 1, 0, 1, 0, 1].flatMap { Pieces.big32($0) })
    }

    package var file: [UInt8] {
        let first = Self.box("ftyp", Array(brands[0].utf8) + Pieces.big32(0) + brands.flatMap { Array($0.utf8) })
        // The length of `meta` does not depend on the offset of the data.
        let length = meta(0).count
        let start = first.count + front.count + length + 8
        return first + front + meta(start + shift) + Self.box("mdat", data) + behind
    }

    private func meta(_ start: Int) -> [UInt8] {
        var infos = Pieces.big16(types.count)
        var locations: [UInt8] = [0x44, 0x00] + Pieces.big16(types.count)
        for (index, type) in types.enumerated() {
            let item = Pieces.big16(index + 1)
            infos += Self.full("infe", version: 2, item + [0, 0] + Array(type.utf8) + [0])
            locations += item + [0, 0, 0, 1] + Pieces.big32(start) + Pieces.big32(data.count)
        }
        var links = Pieces.big32(associations.count)
        for (index, list) in associations.enumerated() {
            links += Pieces.big16(index + 1) + [UInt8(list.count)] + list.map { UInt8($0 | 0x80) }
        }
        var kinds: [UInt8] = []
        for (kind, from, to) in references {
            kinds += Self.box(kind, Pieces.big16(from) + Pieces.big16(to.count) + to.flatMap { Pieces.big16($0) })
        }
        var content = Self.full("pitm", Pieces.big16(primary))
        content += Self.full("iinf", infos)
        content += Self.full("iloc", locations)
        content += Self.full("iref", kinds)
        content += Self.box("iprp", Self.box("ipco", properties.flatMap { $0 }) + Self.full("ipma", links))
        return Self.full("meta", content)
    }
}
