import InflightImages

/// The first image of an image sequence: the first sample of its first track (ISO/IEC 14496-12 chapter 8,
/// ISO/IEC 23008-12 section 7), and that of its alpha.
struct HEIFTracks {
    private struct Track {
        var number = 0
        var isAlpha = false
        /// The tracks to which this one is auxiliary.
        var auxiliaryTo: [Int] = []
        /// The tracks by whose samples the colours are multiplied.
        var multipliers: [Int] = []
        var image: HEIFImage.Part
    }

    let color: HEIFImage
    let alpha: HEIFImage?
    let isPremultiplied: Bool

    /// - Parameter movie: a `moov` box whose bytes are all available.
    init(_ bytes: Bytes, _ movie: HEIFBox, _ format: ImageFormat) throws(LoadError) {
        var tracks: [Track] = []
        for box in HEIFBox.boxes(bytes, movie.content) where box.has("trak", bytes) {
            if let track = Self.track(bytes, box) { tracks.append(track) }
        }
        guard let first = tracks.first(where: { $0.auxiliaryTo.isEmpty }) else {
            throw CodecError.damaged(format, "no image, and no track of images")
        }
        try HEIFImage.checkType(first.image.type, format)
        color = HEIFImage(first.image)
        let alpha = tracks.first { $0.isAlpha && $0.auxiliaryTo.contains(first.number) }
        self.alpha = alpha.map { HEIFImage($0.image) }
        isPremultiplied = alpha.map { first.multipliers.contains($0.number) } ?? false
    }

    /// Returns a track of images, or `nil` for one of another kind or without samples.
    private static func track(_ bytes: Bytes, _ box: HEIFBox) -> Track? {
        let parts = HEIFBox.boxes(bytes, box.content)
        guard let media = parts.first(where: { $0.has("mdia", bytes) }).map({ HEIFBox.boxes(bytes, $0.content) }),
            let handler = media.first(where: { $0.has("hdlr", bytes) })?.content.lowerBound,
            ["pict", "vide", "auxv"].contains(where: { (name: StaticString) in bytes.has(name, at: handler + 8) }),
            let information = media.first(where: { $0.has("minf", bytes) }),
            let table = HEIFBox.boxes(bytes, information.content).first(where: { $0.has("stbl", bytes) })
        else { return nil }
        guard let image = image(bytes, HEIFBox.boxes(bytes, table.content)) else { return nil }
        var track = Track(image: image)
        // `auxi` names the kind, which is alpha if it is missing.
        let kind = image.properties.first { $0.has("auxi", bytes) }?.content.lowerBound
        track.isAlpha = kind.map { HEIFItems.isAlpha(bytes, at: $0 + 4) } ?? true
        for part in parts {
            if part.has("tkhd", bytes), let (version, _, content) = part.full(bytes) {
                track.number = bytes.big32(at: content.lowerBound + (version == 0 ? 8 : 16)) ?? 0
            } else if part.has("tref", bytes) {
                for reference in HEIFBox.boxes(bytes, part.content) {
                    var cursor = HEIFCursor(bytes, reference.content)
                    while let target = cursor.next(4) {
                        if reference.has("auxl", bytes) { track.auxiliaryTo.append(target) }
                        if reference.has("prem", bytes) { track.multipliers.append(target) }
                    }
                }
            }
        }
        return track
    }

    /// Reads the first sample's codec, size and location from a sample table.
    private static func image(_ bytes: Bytes, _ table: [HEIFBox]) -> HEIFImage.Part? {
        var part: HEIFImage.Part?
        var offset: Int?
        var length: Int?
        for box in table {
            guard let (_, _, content) = box.full(bytes) else { continue }
            var cursor = HEIFCursor(bytes, content)
            if box.has("stsd", bytes), content.count > 4 {
                // A visual sample entry has 78 bytes of fields before its boxes (ISO/IEC 14496-12 section 12.1.3).
                guard
                    let entry = HEIFBox.boxes(bytes, content.lowerBound + 4..<content.upperBound).first,
                    entry.content.count >= 78, let type = bytes.big32(at: entry.start + 4),
                    let width = bytes.big16(at: entry.content.lowerBound + 24),
                    let height = bytes.big16(at: entry.content.lowerBound + 26)
                else { return nil }
                let properties = HEIFBox.boxes(bytes, entry.content.lowerBound + 78..<entry.content.upperBound)
                part = HEIFImage.Part(type: type, properties: properties, extents: [], size: (width, height))
            } else if box.has("stsz", bytes), let size = cursor.next(4), let count = cursor.next(4), count > 0 {
                length = size > 0 ? size : cursor.next(4)
            } else if box.has("stco", bytes), let count = cursor.next(4), count > 0 {
                offset = cursor.next(4)
            } else if box.has("co64", bytes), let count = cursor.next(4), count > 0 {
                offset = cursor.next(8)
            }
        }
        guard let offset, let length else { return nil }
        part?.extents = [offset..<offset.saturating(plus: length)]
        return part
    }
}
