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
    /// The data of each item, if they are not all `data`.
    package var itemData: [[UInt8]] = []
    /// The `ipma` boxes; `nil`: one of `associations`.
    package var associationBoxes: [[UInt8]]?
    /// Whether `meta` contains the data, and has no length, so that it extends to the end of the file.
    package var isOpen = false
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
        let all = itemData.isEmpty ? data : itemData.flatMap { $0 }
        if isOpen {
            let content = meta(0, method: 1).dropFirst(8) + Self.box("idat", all)
            return first + front + Pieces.big32(0) + Array("meta".utf8) + content
        }
        // The length of `meta` does not depend on the offset of the data.
        let length = meta(0).count
        let start = first.count + front.count + length + 8
        return first + front + meta(start + shift) + Self.box("mdat", all) + behind
    }

    /// An `ipma` box of the properties of some items, by their numbers from one.
    package static func associations(
        _ lists: [(item: Int, properties: [Int])], version: Int = 0, count: Int? = nil
    ) -> [UInt8] {
        let number = version == 0 ? Pieces.big16 : Pieces.big32
        return full(
            "ipma", version: version,
            Pieces.big32(count ?? lists.count)
                + lists.flatMap {
                    number($0.item) + [UInt8($0.properties.count)] + $0.properties.map { UInt8($0 | 0x80) }
                })
    }

    private func meta(_ start: Int, method: Int = 0) -> [UInt8] {
        var infos = Pieces.big16(types.count)
        var locations: [UInt8] = [0x44, 0x00] + Pieces.big16(types.count)
        var position = start
        for (index, type) in types.enumerated() {
            let item = Pieces.big16(index + 1)
            infos += Self.full("infe", version: 2, item + [0, 0] + Array(type.utf8) + [0])
            let count = itemData.isEmpty ? data.count : itemData[index].count
            locations += item + (method == 0 ? [] : Pieces.big16(method)) + [0, 0, 0, 1]
            locations += Pieces.big32(position) + Pieces.big32(count)
            if !itemData.isEmpty { position += count }
        }
        let lists = associations.enumerated().map { (item: $0.offset + 1, properties: $0.element) }
        let links = associationBoxes ?? [Self.associations(lists)]
        var kinds: [UInt8] = []
        for (kind, from, to) in references {
            kinds += Self.box(kind, Pieces.big16(from) + Pieces.big16(to.count) + to.flatMap { Pieces.big16($0) })
        }
        var content = Self.full("hdlr", Pieces.big32(0) + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        content += Self.full("pitm", Pieces.big16(primary))
        content += Self.full("iinf", infos)
        content += Self.full("iloc", version: method == 0 ? 0 : 1, locations)
        content += Self.full("iref", kinds)
        content += Self.box("iprp", Self.box("ipco", properties.flatMap { $0 }) + links.flatMap { $0 })
        return Self.full("meta", content)
    }
}

extension HEIFPieces {
    /// Takes apart a file by libavif or libheif, so that its images can be put together in another way.
    package init(_ file: [UInt8]) {
        func boxes(_ range: Range<Int>) -> [(name: String, content: Range<Int>)] {
            var found: [(String, Range<Int>)] = []
            var position = range.lowerBound
            while position < range.upperBound {
                let end = position + number(position, 4)
                found.append((String(decoding: file[position + 4..<position + 8], as: UTF8.self), position + 8..<end))
                position = end
            }
            return found
        }
        func number(_ start: Int, _ size: Int) -> Int { file[start..<start + size].reduce(0) { $0 << 8 | Int($1) } }
        func content(_ name: String, in range: Range<Int>) -> Range<Int> {
            boxes(range).first { $0.name == name }?.content ?? 0..<0
        }
        self.init()
        let kinds = content("ftyp", in: file.indices)
        brands = stride(from: kinds.lowerBound, to: kinds.upperBound, by: 4).filter { $0 != kinds.lowerBound + 4 }
            .dropFirst().map { String(decoding: file[$0..<$0 + 4], as: UTF8.self) }
        let meta = content("meta", in: file.indices).dropFirst(4)
        types = boxes(content("iinf", in: meta).dropFirst(6)).map { entry in
            String(decoding: file[entry.content.lowerBound + 8..<entry.content.lowerBound + 12], as: UTF8.self)
        }
        let parts = content("iprp", in: meta)
        properties = boxes(content("ipco", in: parts)).map {
            Array(file[$0.content.lowerBound - 8..<$0.content.upperBound])
        }
        var position = content("ipma", in: parts).lowerBound + 8
        associations = types.map { _ in
            let count = Int(file[position + 2])
            defer { position += 3 + count }
            return file[position + 3..<position + 3 + count].map { Int($0 & 0x7F) }
        }
        // Version 0 with offsets and lengths of four bytes, and one extent for each item.
        position = content("iloc", in: meta).lowerBound + 8
        let baseSize = Int(file[position - 3] >> 4)
        itemData = types.map { _ in
            defer { position += 14 + baseSize }
            let start = number(position + 4, baseSize) + number(position + 6 + baseSize, 4)
            return Array(file[start..<start + number(position + 10 + baseSize, 4)])
        }
        references = boxes(content("iref", in: meta).dropFirst(4)).map { box in
            let start = box.content.lowerBound
            return (box.name, number(start, 2), (0..<number(start + 2, 2)).map { number(start + 4 + 2 * $0, 2) })
        }
    }

    /// Adds a property to an item, last or first.
    package mutating func add(_ property: [UInt8], to item: Int = 1, first: Bool = false) {
        properties.append(property)
        associations[item - 1].insert(properties.count, at: first ? 0 : associations[item - 1].count)
    }

    /// The content of the property of this type, of an item.
    package func property(_ name: String, of item: Int) -> [UInt8] {
        associations[item - 1].map { properties[$0 - 1] }.first { Array($0[4..<8]) == Array(name.utf8) } ?? []
    }

    /// An image sequence without a still: each item is the only sample of a track, and auxiliary to the first if it is
    /// not the first itself.
    package func sequence(width: Int, height: Int) -> [UInt8] {
        let first = Self.box("ftyp", Array("avis".utf8) + Pieces.big32(0) + Array("avismsf1iso8".utf8))
        func movie(_ start: Int) -> [UInt8] {
            var position = start
            var tracks: [UInt8] = []
            for (index, data) in itemData.enumerated() {
                let size = Pieces.big16(width) + Pieces.big16(height)
                let entry = Self.box(
                    types[index],
                    [UInt8](repeating: 0, count: 24) + size + [UInt8](repeating: 0, count: 50)
                        + associations[index].flatMap { properties[$0 - 1] })
                let table = Self.box(
                    "stbl",
                    Self.full("stsd", Pieces.big32(1) + entry)
                        + Self.full("stsz", Pieces.big32(0) + Pieces.big32(1) + Pieces.big32(data.count))
                        + Self.full("stco", Pieces.big32(1) + Pieces.big32(position)))
                let handler = Self.full("hdlr", Pieces.big32(0) + Array((index == 0 ? "pict" : "auxv").utf8))
                let head = Self.full("tkhd", Pieces.big32(0) + Pieces.big32(0) + Pieces.big32(index + 1))
                let link = index == 0 ? [] : Self.box("tref", Self.box("auxl", Pieces.big32(1)))
                tracks += Self.box("trak", head + link + Self.box("mdia", handler + Self.box("minf", table)))
                position += data.count
            }
            return Self.box("moov", tracks)
        }
        let start = first.count + movie(0).count + 8
        return first + movie(start) + Self.box("mdat", itemData.flatMap { $0 })
    }
}
