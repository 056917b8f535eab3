import InflightImages

/// The items of an image's `meta` box (ISO/IEC 14496-12 section 8.11, ISO/IEC 23008-12 sections 6 and 9): the primary
/// item, and the properties, references and locations of items.
struct HEIFItems {
    let bytes: Bytes
    private(set) var primary: Int?
    /// The four-character type of each item as a number.
    private var types: [Int: Int] = [:]
    private var properties: [HEIFBox] = []
    private var associations: HEIFBox?
    private var references: [HEIFBox] = []
    private var referencesAreWide = false
    private var locations: HEIFBox?
    private var data: HEIFBox?

    /// - Parameter meta: a box whose bytes are all available.
    init(_ bytes: Bytes, _ meta: HEIFBox) {
        self.bytes = bytes
        guard let (_, _, content) = meta.full(bytes) else { return }
        for box in HEIFBox.boxes(bytes, content) {
            if box.has("pitm", bytes), let (version, _, content) = box.full(bytes) {
                var cursor = HEIFCursor(bytes, content)
                primary = cursor.next(version == 0 ? 2 : 4)
            } else if box.has("iinf", bytes) {
                readTypes(box)
            } else if box.has("iprp", bytes) {
                for part in HEIFBox.boxes(bytes, box.content) {
                    if part.has("ipco", bytes) { properties = HEIFBox.boxes(bytes, part.content) }
                    if part.has("ipma", bytes), associations == nil { associations = part }
                }
            } else if box.has("iref", bytes), let (version, _, content) = box.full(bytes) {
                references = HEIFBox.boxes(bytes, content)
                referencesAreWide = version != 0
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

    func isGrid(_ item: Int) -> Bool { types[item] == 0x6772_6964 }

    /// Returns an item's properties in the listed order.
    func properties(of wanted: Int) -> [HEIFBox] {
        guard let (version, flags, content) = associations?.full(bytes) else { return [] }
        var cursor = HEIFCursor(bytes, content)
        var found: [HEIFBox] = []
        let size = flags & 1 == 0 ? 1 : 2
        for _ in 0..<(cursor.next(4) ?? 0) {
            guard let item = cursor.next(version == 0 ? 2 : 4), let count = cursor.next(1) else { break }
            for _ in 0..<count {
                guard let value = cursor.next(size) else { return found }
                // Indices start at one. The highest bit marks a property that a decoder must support to show the image.
                let index = (value & (size == 1 ? 0x7F : 0x7FFF)) - 1
                if item == wanted, properties.indices.contains(index) { found.append(properties[index]) }
            }
        }
        return found
    }

    /// Returns at most 16 items that refer to `to`, or that `from` refers to, by references of type `kind`.
    func references(_ kind: StaticString, from: Int? = nil, to: Int? = nil) -> [Int] {
        let size = referencesAreWide ? 4 : 2
        var found: [Int] = []
        for box in references where box.has(kind, bytes) {
            var cursor = HEIFCursor(bytes, box.content)
            guard let source = cursor.next(size), let count = cursor.next(2), from == nil || from == source else {
                continue
            }
            for _ in 0..<count {
                guard let target = cursor.next(size), found.count < 16 else { break }
                if from != nil { found.append(target) } else if target == to { found.append(source) }
            }
        }
        return found
    }

    /// Returns whether all bytes of the item `wanted`, or of every item if nil, are within the file. Returns false for
    /// a malformed list.
    func extentsLieInside(of wanted: Int? = nil) -> Bool {
        guard let (version, _, content) = locations?.full(bytes) else { return false }
        var cursor = HEIFCursor(bytes, content)
        guard let sizes = cursor.next(2), let count = cursor.next(version < 2 ? 2 : 4) else { return false }
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ [0, 4, 8].contains($0) }) else { return false }
        for _ in 0..<count {
            guard let item = cursor.next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : cursor.next(2),
                cursor.next(2) != nil, let base = cursor.next(baseSize), let extents = cursor.next(2)
            else { return false }
            // If the fields of an extent take no bytes in the list, all extents are the same.
            let isEmpty = indexSize + offsetSize + lengthSize == 0
            for _ in 0..<(isEmpty ? min(extents, 1) : extents) {
                guard cursor.next(indexSize) != nil, let offset = cursor.next(offsetSize),
                    let length = cursor.next(lengthSize)
                else { return false }
                if let wanted, item != wanted { continue }
                let end = base.saturating(plus: offset).saturating(plus: length)
                switch method & 15 {
                case 0: if end > bytes.count { return false }
                case 1: if end > data?.content.count ?? 0 { return false }
                default: break
                }
            }
        }
        return true
    }
}
