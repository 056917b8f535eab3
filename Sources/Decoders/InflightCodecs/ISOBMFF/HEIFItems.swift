import InflightImages

/// The items of an image's `meta` box (ISO/IEC 14496-12 section 8.11, ISO/IEC 23008-12 sections 6 and 9): the primary
/// item, and the properties, references and locations of items.
///
/// Each list is parsed once. Its work and memory are proportional to its bytes, whatever counts it declares.
struct HEIFItems {
    let bytes: Bytes
    let format: ImageFormat
    private(set) var primary: Int?
    /// The four-character type of each item as a number.
    private(set) var types: [Int: Int] = [:]
    private var properties: [HEIFBox] = []
    private var associations: [Int: [Int]] = [:]
    /// The items that each derived image consists of.
    private(set) var sources: [Int: [Int]] = [:]
    /// The auxiliary images of each item.
    private(set) var auxiliaries: [Int: [Int]] = [:]
    /// The auxiliary image by which the colours of an item are multiplied.
    private(set) var multipliers: [Int: Int] = [:]
    private var locations: HEIFBox?
    private var data: HEIFBox?

    /// - Parameter meta: a box whose bytes are all available.
    init(_ bytes: Bytes, _ meta: HEIFBox, _ format: ImageFormat) throws(LoadError) {
        self.bytes = bytes
        self.format = format
        guard let (_, _, content) = meta.full(bytes) else { return }
        for box in HEIFBox.boxes(bytes, content) {
            if box.has("pitm", bytes), let (version, _, content) = box.full(bytes) {
                var cursor = HEIFCursor(bytes, content)
                primary = cursor.next(version == 0 ? 2 : 4)
            } else if box.has("iinf", bytes) {
                readTypes(box)
            } else if box.has("iprp", bytes) {
                let parts = HEIFBox.boxes(bytes, box.content)
                for part in parts where part.has("ipco", bytes) {
                    properties = HEIFBox.boxes(bytes, part.content)
                }
                for part in parts where part.has("ipma", bytes) { try readAssociations(part) }
            } else if box.has("iref", bytes) {
                readReferences(box)
            } else if box.has("iloc", bytes) {
                locations = box
            } else if box.has("idat", bytes) {
                data = box
            }
        }
    }

    private mutating func readTypes(_ box: HEIFBox) {
        guard let (version, _, content) = box.full(bytes) else { return }
        let start = content.lowerBound + (version == 0 ? 2 : 4)
        guard start <= content.upperBound else { return }
        for entry in HEIFBox.boxes(bytes, start..<content.upperBound) {
            guard let (version, _, content) = entry.full(bytes), version >= 2 else { continue }
            var cursor = HEIFCursor(bytes, content)
            guard let item = cursor.next(version == 2 ? 2 : 4), cursor.next(2) != nil, let type = cursor.next(4) else {
                continue
            }
            types[item] = type
        }
    }

    /// Adds the properties that one `ipma` box lists. There may be one box for each version and each value of its
    /// flags, and an item must be in only one of them. Two boxes alike are against the format, but unambiguous.
    private mutating func readAssociations(_ box: HEIFBox) throws(LoadError) {
        let malformed = CodecError.damaged(format, "its list of properties (ipma) is malformed")
        guard let (version, flags, content) = box.full(bytes), version <= 1 else { throw malformed }
        var cursor = HEIFCursor(bytes, content)
        let size = flags & 1 == 0 ? 1 : 2
        guard let entries = cursor.next(4) else { throw malformed }
        for _ in 0..<entries {
            guard let item = cursor.next(version == 0 ? 2 : 4), let count = cursor.next(1) else { throw malformed }
            guard associations[item] == nil else {
                throw CodecError.damaged(format, "the properties of item \(item) are listed twice (ipma)")
            }
            var list: [Int] = []
            for _ in 0..<count {
                // The highest bit marks a property that a decoder must support to show the image. Zero is no property.
                guard let value = cursor.next(size) else { throw malformed }
                let index = value & (size == 1 ? 0x7F : 0x7FFF)
                guard index <= properties.count else { throw malformed }
                if index > 0 { list.append(index - 1) }
            }
            associations[item] = list
        }
    }

    private mutating func readReferences(_ box: HEIFBox) {
        guard let (version, _, content) = box.full(bytes) else { return }
        let size = version == 0 ? 2 : 4
        for box in HEIFBox.boxes(bytes, content) {
            var cursor = HEIFCursor(bytes, box.content)
            guard let source = cursor.next(size), let count = cursor.next(2) else { continue }
            var targets: [Int] = []
            for _ in 0..<count {
                guard let target = cursor.next(size) else { break }
                targets.append(target)
            }
            if box.has("dimg", bytes), sources[source] == nil {
                sources[source] = targets
            } else if box.has("auxl", bytes) {
                for target in targets { auxiliaries[target, default: []].append(source) }
            } else if box.has("prem", bytes) {
                multipliers[source] = targets.first
            }
        }
    }

    /// Returns an item's properties in the listed order.
    func properties(of item: Int) -> [HEIFBox] { (associations[item] ?? []).map { properties[$0] } }

    /// Returns the item that is the alpha of `item`, if any.
    func alpha(of item: Int) -> Int? {
        auxiliaries[item]?.first { properties(of: $0).contains { isAlpha($0) } }
    }

    private func isAlpha(_ box: HEIFBox) -> Bool {
        guard box.has("auxC", bytes), let (_, _, content) = box.full(bytes) else { return false }
        return Self.isAlpha(bytes, at: content.lowerBound)
    }

    /// Returns whether the name of an auxiliary image's kind at `offset` is that of alpha.
    static func isAlpha(_ bytes: Bytes, at offset: Int) -> Bool {
        bytes.has("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", at: offset)
            || bytes.has("urn:mpeg:hevc:2015:auxid:1", at: offset)
    }

    /// Returns whether all bytes of all items are within the file. Returns false for a malformed list.
    func extentsLieInside() -> Bool {
        forEachExtent { _, extent in extent.upperBound <= bytes.count } ?? false
    }

    /// Returns the locations in the file of each item's bytes, which may be outside the file. Items whose bytes are
    /// elsewhere have none. Returns `nil` for a malformed list.
    func extents() -> [Int: [Range<Int>]]? {
        var found: [Int: [Range<Int>]] = [:]
        let result = forEachExtent { item, extent in
            found[item, default: []].append(extent)
            return true
        }
        return result == nil ? nil : found
    }

    /// Calls `body` for each extent until it returns false. Returns whether it never did, or `nil` for a malformed
    /// list.
    private func forEachExtent(_ body: (Int, Range<Int>) -> Bool) -> Bool? {
        guard let (version, _, content) = locations?.full(bytes) else { return nil }
        var cursor = HEIFCursor(bytes, content)
        guard let sizes = cursor.next(2), let count = cursor.next(version < 2 ? 2 : 4) else { return nil }
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ [0, 4, 8].contains($0) }) else { return nil }
        for _ in 0..<count {
            guard let item = cursor.next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : cursor.next(2),
                cursor.next(2) != nil, let base = cursor.next(baseSize), let extents = cursor.next(2)
            else { return nil }
            // If the fields of an extent take no bytes in the list, all extents are the same.
            let isEmpty = indexSize + offsetSize + lengthSize == 0
            for _ in 0..<(isEmpty ? min(extents, 1) : extents) {
                guard cursor.next(indexSize) != nil, let offset = cursor.next(offsetSize),
                    let length = cursor.next(lengthSize)
                else { return nil }
                guard method & 15 < 2 else { continue }
                var start = base.saturating(plus: offset)
                if method & 15 == 1 {
                    // The bytes of the item are in `idat`.
                    guard start.saturating(plus: length) <= data?.content.count ?? 0 else { return false }
                    start = start.saturating(plus: data?.content.lowerBound ?? 0)
                }
                guard body(item, start..<start.saturating(plus: length)) else { return false }
            }
        }
        return true
    }
}
