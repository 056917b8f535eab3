package import InflightImages

/// The image of a HEIF file as one that any decoder reads: a file for its colours, and one for its alpha.
///
/// Each has one image without transformations, which the caller applies. So the colours and alpha are cropped and
/// turned alike, and the source may be a sequence, or list its properties in any order, in several boxes.
package struct HEIFStill {
    /// An image without transformations and alpha.
    package struct Layer {
        /// A HEIF file.
        package var file: Bytes
        package var bits: Int
        /// Whether the samples are grey or RGB and of limited range, which libheif leaves as they are.
        package var needsRange: Bool
    }

    package var color: Layer
    package var alpha: Layer?
    package var isPremultiplied: Bool
    package var crop: HEIFCrop
    /// The size of the decoded image.
    package var width: Int
    package var height: Int
}

extension IsolatedFormats {
    /// - Parameters:
    ///   - bytes: a complete file.
    ///   - format: AVIF or HEIC.
    package static func still(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> HEIFStill {
        format == .avif
            ? try AVIFStructure.wholeHeader(bytes).still(bytes) : try HEICStructure.wholeHeader(bytes).still(bytes)
    }
}

extension HEIFStructure {
    fileprivate func still(_ bytes: Bytes) throws(LoadError) -> HEIFStill {
        try checkExtents(bytes)
        var layer: HEIFStill.Layer?
        if let alpha {
            // The caller has limited the size of the colours only.
            let (width, height) = HEIFSamples.size(alpha.parts[0], bytes) ?? alpha.parts[0].size ?? codedSize
            guard width <= 4 * codedSize.width, height <= 4 * codedSize.height else {
                throw CodecError.unsupported(Self.format, "alpha of more than four times the size of the colours")
            }
            layer = HEIFStill.Layer(
                file: try HEIFWriter.file(alpha, bytes, Self.format, size: codedSize),
                bits: HEIFSamples(alpha, bytes).bits, needsRange: HEIFRange.ofAlpha(alpha, bytes).isLimited)
        }
        let range = HEIFRange.ofColor(color, bytes)
        return HEIFStill(
            color: HEIFStill.Layer(
                file: try HEIFWriter.file(
                    color, bytes, Self.format, size: codedSize, isLimitedRGB: range.isLimited && range.isRGB),
                bits: samples.bits, needsRange: range.isLimited && (samples.isGray || range.isRGB)),
            alpha: layer, isPremultiplied: isPremultiplied, crop: crop, width: codedSize.width,
            height: codedSize.height)
    }
}

/// Writes an image as a HEIF file.
private enum HEIFWriter {
    /// The extents must be within the bytes.
    ///
    /// - Parameters:
    ///   - size: the size of the image if it has none.
    ///   - isLimitedRGB: whether the samples are RGB of limited range. libheif would map these in the wrong direction,
    ///     so the file declares full range.
    static func file(
        _ image: HEIFImage, _ bytes: Bytes, _ format: ImageFormat, size: (width: Int, height: Int),
        isLimitedRGB: Bool = false
    ) throws(LoadError) -> Bytes {
        guard image.parts.count < 0x7FFF else {
            throw CodecError.unsupported(format, "an image composed of more than 32,766 others")
        }
        // Images may share their data, such as tiles of one colour.
        var offsets: [[Range<Int>]: Int] = [:]
        var places: [(offset: Int, length: Int)] = []
        var extents: [Range<Int>] = []
        var total = 0
        for part in image.parts {
            guard !part.extents.isEmpty else { throw CodecError.damaged(format, "an image without data") }
            let length = part.extents.reduce(0) { $0.saturating(plus: $1.count) }
            places.append((offsets[part.extents] ?? total, length))
            guard offsets[part.extents] == nil else { continue }
            offsets[part.extents] = total
            extents += part.extents
            total = total.saturating(plus: length)
        }
        // Extents that overlap could make the copy larger than any file.
        guard total <= bytes.count, total < 0x7000_0000 else {
            throw CodecError.damaged(format, "the data of its images overlaps")
        }
        let properties = { Properties(bytes, isLimitedRGB: isLimitedRGB) }
        let start = try head(image, format, properties(), size, places, dataStart: 0).count
        var file = try head(image, format, properties(), size, places, dataStart: start + 8)
        file.reserveCapacity(file.count + 8 + total)
        file += big32(total + 8) + Array("mdat".utf8)
        unsafe bytes.withUnsafeBytes { memory in
            for extent in extents { unsafe file.append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[extent])) }
        }
        return Bytes(file)
    }

    /// Returns all boxes before the data. Their length does not depend on `dataStart`.
    private static func head(
        _ image: HEIFImage, _ format: ImageFormat, _ listed: Properties, _ size: (width: Int, height: Int),
        _ places: [(offset: Int, length: Int)], dataStart: Int
    ) throws(LoadError) -> [UInt8] {
        var infos = big16(image.parts.count)
        var locations = [0x44, 0] + big16(image.parts.count)
        var references: [UInt8] = []
        var properties = listed
        var links = big32(image.parts.count)
        for (index, part) in image.parts.enumerated() {
            let item = big16(index + 1)
            // All but the first are hidden.
            infos += full("infe", version: 2, flags: index == 0 ? 0 : 1, item + [0, 0] + big32(part.type) + [0])
            locations += item + [0, 0, 0, 1] + big32(dataStart + places[index].offset) + big32(places[index].length)
            if !part.sources.isEmpty {
                let targets = part.sources.flatMap { big16($0 + 1) }
                references += box("dimg", item + big16(part.sources.count) + targets)
            }
            let list = properties.add(part, size: index == 0 ? size : nil)
            links += item + [UInt8(list.count)] + list.flatMap { big16($0 + 1) }
        }
        guard properties.count <= 0x7FFF else {
            throw CodecError.unsupported(format, "an image of more than 32,767 properties")
        }
        let handler = full("hdlr", big32(0) + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        let meta = full(
            "meta",
            handler + full("pitm", big16(1)) + full("iloc", locations) + full("iinf", infos) + full("iref", references)
                + box("iprp", box("ipco", properties.boxes) + full("ipma", flags: 1, links)))
        return box("ftyp", Array("mif1\0\0\0\0mif1avifheic".utf8)) + meta
    }

    /// The list of properties, each of which is there once.
    private struct Properties {
        private let bytes: Bytes
        private let isLimitedRGB: Bool
        private(set) var boxes: [UInt8] = []
        private var indices: [Int: Int] = [:]
        private(set) var count = 0

        init(_ bytes: Bytes, isLimitedRGB: Bool) {
            self.bytes = bytes
            self.isLimitedRGB = isLimitedRGB
        }

        /// Returns the indices of a part's properties, the size first.
        ///
        /// - Parameter size: not nil for the image itself: its size if it has none. Its transformations are left out.
        mutating func add(_ part: HEIFImage.Part, size: (width: Int, height: Int)?) -> [Int] {
            let kept: [StaticString] =
                ["av1C", "hvcC", "colr", "pixi"] + (size == nil ? ["irot", "imir", "clap"] : [])
            var list: [Int] = []
            if let box = part.properties.first(where: { $0.has("ispe", bytes) }) {
                list.append(add(box))
            } else if let size = part.size ?? size {
                list.append(append(full("ispe", big32(size.width) + big32(size.height))))
            }
            // More than these are not listed: each kind is there once, and a colour twice.
            if isLimitedRGB {
                list.append(append(box("colr", Array("nclx".utf8) + big16(2) + big16(2) + big16(0) + [0x80])))
            }
            for box in part.properties where kept.contains(where: { box.has($0, bytes) }) && list.count < 16 {
                if isLimitedRGB, box.has("colr", bytes), bytes.has("nclx", at: box.content.lowerBound) { continue }
                list.append(add(box))
            }
            return list
        }

        private mutating func add(_ box: HEIFBox) -> Int {
            if let index = indices[box.start] { return index }
            let content = unsafe bytes.withUnsafeBytes { unsafe Array($0[box.content]) }
            let index = append(big32(content.count + 8) + big32(bytes.big32(at: box.start + 4) ?? 0) + content)
            indices[box.start] = index
            return index
        }

        private mutating func append(_ box: [UInt8]) -> Int {
            boxes += box
            count += 1
            return count - 1
        }
    }

    private static func big16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
    private static func big32(_ value: Int) -> [UInt8] { big16(value >> 16) + big16(value) }

    private static func box(_ name: StaticString, _ content: [UInt8]) -> [UInt8] {
        big32(content.count + 8) + big32(HEIFImage.code(name)) + content
    }

    private static func full(
        _ name: StaticString, version: Int = 0, flags: Int = 0, _ content: [UInt8]
    ) -> [UInt8] {
        box(name, big32(version << 24 | flags) + content)
    }
}
