/// TIFF files built by hand: first the pixels, then the directory.
package struct TIFFPieces {
    package var isLittle = true
    package var isBig = false
    package var width = Scene.width
    package var height = Scene.height
    package var bits = 8
    package var samples = 3
    package var photometric = 2
    package var compression = 1
    package var pixels: [UInt8] = []
    /// Additional fields: of 32 bits if `isLong`, otherwise of 16.
    package var fields: [(tag: Int, values: [Int], isLong: Bool)] = []
    /// The tags of omitted fields.
    package var omitted: Set<Int> = []
    package var profile: [UInt8] = []
    /// The offset of the next page's directory.
    package var next = 0
    /// The number of bytes between the file header and the pixels.
    package var before = 0

    package init() {
        pixels = Self.bytes { [Scene.color($0, $1).x, Scene.color($0, $1).y, Scene.color($0, $1).z] }
    }

    package static func bytes(_ pixel: (Int, Int) -> [UInt8]) -> [UInt8] {
        (0..<Scene.height).flatMap { y in (0..<Scene.width).flatMap { x in pixel(x, y) } }
    }

    /// The samples of the scene's pixels in `bits` bits each, packed from the highest bit of each byte. Each row starts
    /// at a byte.
    package static func packed(_ bits: Int, _ pixel: (Int, Int) -> [Int]) -> [UInt8] {
        (0..<Scene.height).flatMap { y -> [UInt8] in
            let ones = (0..<Scene.width).flatMap { x in
                pixel(x, y).flatMap { value in (0..<bits).reversed().map { UInt8(value >> $0 & 1) } }
            }
            return stride(from: 0, to: ones.count, by: 8).map { start in
                (0..<8).reduce(0) { $0 << 1 | (start + $1 < ones.count ? ones[start + $1] : 0) }
            }
        }
    }

    /// Stores the samples in planes, one strip each, instead of interleaved.
    ///
    /// - Parameter pixel: returns the bytes of each sample.
    package mutating func separate(_ pixel: (Int, Int) -> [[UInt8]]) {
        let planes = (0..<samples).map { plane in Self.bytes { pixel($0, $1)[plane] } }
        pixels = planes.flatMap(\.self)
        omitted.formUnion([273, 279])
        fields += [
            (273, planes.indices.map { 8 + $0 * planes[0].count }, true), (279, planes.map(\.count), true),
            (284, [2], false),
        ]
    }

    package func number(_ value: Int, _ count: Int) -> [UInt8] {
        let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return isLittle ? little : little.reversed()
    }

    /// The offset of the directory in ``file``.
    package var directory: Int { (isBig ? 16 : 8) + before + pixels.count + pixels.count % 2 }

    package var file: [UInt8] {
        let width = isBig ? 8 : 4
        let start = (isBig ? 16 : 8) + before
        var entries: [(tag: Int, type: Int, count: Int, content: [UInt8])] = []
        func add(_ tag: Int, _ values: [Int], isLong: Bool = false) {
            entries.append((tag, isLong ? 4 : 3, values.count, values.flatMap { number($0, isLong ? 4 : 2) }))
        }
        add(256, [self.width], isLong: true)
        add(257, [height], isLong: true)
        add(258, [Int](repeating: bits, count: samples))
        add(259, [compression])
        add(262, [photometric])
        add(273, [start], isLong: true)
        add(277, [samples])
        add(278, [height])
        add(279, [pixels.count], isLong: true)
        entries.removeAll { omitted.contains($0.tag) }
        for field in fields { add(field.tag, field.values, isLong: field.isLong) }
        if !profile.isEmpty { entries.append((34675, 7, profile.count, profile)) }
        entries.sort { $0.tag < $1.tag }
        let first = directory
        var behind = first + (isBig ? 8 : 2) + entries.count * (isBig ? 20 : 12) + width
        var table = number(entries.count, isBig ? 8 : 2)
        var far: [UInt8] = []
        for entry in entries {
            table += number(entry.tag, 2) + number(entry.type, 2) + number(entry.count, width)
            if entry.content.count <= width {
                table += entry.content + [UInt8](repeating: 0, count: width - entry.content.count)
            } else {
                table += number(behind, width)
                far += entry.content
                behind += entry.content.count
            }
        }
        let mark = Array((isLittle ? "II" : "MM").utf8)
        let head = isBig ? mark + number(43, 2) + number(8, 2) + number(0, 2) : mark + number(42, 2)
        return head + number(first, width) + pixels + [UInt8](repeating: 0, count: pixels.count % 2) + table
            + number(next, width) + far
    }

    /// A file of several pages with the same byte order and offset size; the last page links to `end`.
    package static func file(_ pages: [TIFFPieces], end: Int = 0) -> [UInt8] {
        var pages = pages
        let header = pages[0].isBig ? 16 : 8
        for index in pages.indices.dropFirst() {
            pages[index].before = pages[index - 1].before + pages[index - 1].file.count - header
        }
        for index in pages.indices { pages[index].next = index + 1 < pages.count ? pages[index + 1].directory : end }
        return pages.dropFirst().reduce(pages[0].file) { $0 + $1.file[header...] }
    }
}
