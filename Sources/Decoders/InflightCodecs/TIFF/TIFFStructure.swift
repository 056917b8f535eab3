import InflightImages

/// The directories of a TIFF file (TIFF 6.0 section 2; BigTIFF as libtiff writes it), parsed without decoding.
struct TIFFStructure: FileStructure {
    static let format = ImageFormat.tiff

    var width = 0
    var height = 0
    var orientation = ImageInfo.Orientation.up
    var bitsPerSample = 1
    var samplesPerPixel = 1
    /// The meaning of each sample beyond the colours: 1 and 2 are alpha.
    var extraSamples: [Int] = []
    var photometric = 0
    var profileName: String?
    /// The number of pages whose directories are available.
    var pageCount = 1
    /// Whether the list of pages continues behind the available bytes.
    var mayHaveMorePages = false

    /// The maximum number of pages to count.
    static let maximumPages = 1 << 16

    enum Tag {
        static let width = 256
        static let height = 257
        static let bitsPerSample = 258
        static let compression = 259
        static let photometric = 262
        static let stripOffsets = 273
        static let orientation = 274
        static let samplesPerPixel = 277
        static let rowsPerStrip = 278
        static let stripByteCounts = 279
        static let planarConfiguration = 284
        static let colorMap = 320
        static let tileWidth = 322
        static let tileLength = 323
        static let tileOffsets = 324
        static let tileByteCounts = 325
        static let extraSamples = 338
        static let jpegTables = 347
        static let chromaSubsampling = 530
        static let profile = 34675

        static let needed = [
            width, height, bitsPerSample, photometric, orientation, samplesPerPixel, colorMap, extraSamples, jpegTables,
            profile,
        ]
    }

    private static let mask = 4
    private static let logL = 32844

    var colorModel: ImageInfo.ColorModel {
        switch photometric {
        case 0, 1, Self.mask, Self.logL: .gray
        case 3: .indexed
        case 5: .cmyk
        default: .rgb
        }
    }

    /// Whether an extra sample is declared as alpha. Other extra samples have no defined meaning.
    var hasAlpha: Bool {
        let colors = [.gray, .indexed].contains(colorModel) ? 1 : colorModel == .cmyk ? 4 : 3
        return extraSamples.prefix(max(0, samplesPerPixel - colors)).contains { $0 == 1 || $0 == 2 }
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .tiff, storedWidth: width, storedHeight: height, orientation: orientation, frameCount: pageCount,
            colorModel: colorModel, bitsPerComponent: bitsPerSample, hasAlpha: hasAlpha, profileName: profileName,
            mayHaveMoreFrames: mayHaveMorePages)
    }

    /// Parses the first directory, which may be anywhere in the file, and its values, and counts the available pages.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<TIFFStructure> {
        guard bytes.count >= 16 else { return .needsMoreBytes(64) }
        guard let reader = TIFFReader(bytes) else { throw CodecError.damaged(.tiff, "malformed header") }
        if reader.isBig, reader.number16(at: 4) != 8 || reader.number16(at: 6) != 0 {
            throw CodecError.damaged(.tiff, "malformed header")
        }
        guard let start = reader.offset(at: reader.isBig ? 8 : 4) else { return .needsMoreBytes(64) }
        guard start >= reader.headerLength else { throw CodecError.damaged(.tiff, "no image data") }
        var structure = TIFFStructure()
        switch try structure.read(reader, start) {
        case .needs(let count): return .needsMoreBytes(count)
        case .next(let next):
            structure.countPages(reader, start, next)
            return .header(structure)
        }
    }

    enum Directory {
        case next(Int)
        case needs(Int)
    }

    /// Returns the entries of the directory at `start` by tag. A valid file has no duplicates; the first one is used.
    static func entries(_ reader: TIFFReader, _ start: Int) throws(LoadError) -> (
        [Int: TIFFReader.Entry], next: Directory
    ) {
        guard let count = reader.entryCount(at: start) else { return ([:], .needs(start.saturating(plus: 256))) }
        guard (1...0xFFFF).contains(count) else { throw CodecError.damaged(.tiff, "a page without a header") }
        let end = start + reader.countLength + count * reader.entryLength
        guard let next = reader.offset(at: end) else { return ([:], .needs(end + reader.offsetLength)) }
        var entries: [Int: TIFFReader.Entry] = [:]
        for index in 0..<count {
            guard let (tag, entry) = reader.entry(at: start + reader.countLength + index * reader.entryLength) else {
                break
            }
            if entries[tag] == nil { entries[tag] = entry }
        }
        return (entries, .next(next))
    }

    mutating func read(_ reader: TIFFReader, _ start: Int) throws(LoadError) -> Directory {
        let (entries, directory) = try Self.entries(reader, start)
        guard case .next = directory else { return directory }
        // Values elsewhere in the file must be available, except for the profile's name if the profile is too large.
        for tag in Tag.needed {
            guard let entry = entries[tag], let end = entry.end, end > reader.bytes.count else { continue }
            if tag == Tag.profile, entry.count > ICCProfile.maximumCount { continue }
            return .needs(end)
        }
        func number(_ tag: Int) -> Int? { entries[tag].flatMap { reader.value($0) } }
        guard let wide = number(Tag.width), let high = number(Tag.height), wide > 0, high > 0,
            wide <= 0x7FFF_FFFF, high <= 0x7FFF_FFFF
        else { throw CodecError.damaged(.tiff, "missing size") }
        width = wide
        height = high
        bitsPerSample = number(Tag.bitsPerSample) ?? 1
        samplesPerPixel = number(Tag.samplesPerPixel) ?? 1
        guard (1...64).contains(bitsPerSample), samplesPerPixel > 0 else {
            throw CodecError.damaged(.tiff, "invalid pixel layout")
        }
        if let entry = entries[Tag.extraSamples] {
            extraSamples = (0..<min(entry.count, samplesPerPixel, 0xFFFF)).compactMap { reader.value(entry, at: $0) }
        }
        photometric = number(Tag.photometric) ?? (samplesPerPixel - extraSamples.count == 3 ? 2 : 1)
        orientation = number(Tag.orientation).flatMap { ImageInfo.Orientation(rawValue: $0) } ?? .up
        if let entry = entries[Tag.profile], let end = entry.end, end <= reader.bytes.count {
            profileName = ICCProfile(reader.bytes, entry.offset..<end).name
        }
        return directory
    }

    /// Counts the pages of the list, up to one that was already counted.
    mutating func countPages(_ reader: TIFFReader, _ first: Int, _ next: Int) {
        var seen: Set<Int> = [first]
        var position = next
        while position >= reader.headerLength, pageCount < Self.maximumPages, seen.insert(position).inserted {
            guard let count = reader.entryCount(at: position), (1...0xFFFF).contains(count),
                let following = reader.offset(at: position + reader.countLength + count * reader.entryLength)
            else {
                mayHaveMorePages = true
                return
            }
            pageCount += 1
            position = following
        }
    }

    static func walk(_ bytes: Bytes) throws(LoadError) {
        _ = try hasWholeList(bytes)
    }

    /// Checks that each page has a size, and that its strips or tiles are within the file. Returns whether the list of
    /// pages ends within the file.
    ///
    /// The list may also end with a pointer to no page. Some programs leave such a pointer in the last page, and all
    /// readers show the pages before it.
    static func hasWholeList(_ bytes: Bytes) throws(LoadError) -> Bool {
        guard case .header = try readHeader(bytes), let reader = TIFFReader(bytes),
            var position = reader.offset(at: reader.isBig ? 8 : 4)
        else { throw CodecError.truncated(.tiff) }
        var seen: Set<Int> = []
        while position != 0 {
            guard seen.insert(position).inserted, seen.count <= maximumPages else {
                throw CodecError.damaged(.tiff, "endless list of pages")
            }
            var page = TIFFStructure()
            let directory: Directory
            do throws(LoadError) {
                directory = try page.read(reader, position)
            } catch {
                if seen.count == 1 { throw error }
                return false
            }
            guard case .next(let next) = directory else {
                if seen.count == 1 { throw CodecError.truncated(.tiff) }
                return false
            }
            try checkPixels(reader, position)
            position = next
        }
        return true
    }

    /// Checks the location of the first page's pixels too if the file is complete. The decoder would invent missing
    /// ones.
    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw CodecError.truncated(.tiff) }
            return .needsMoreBytes(count)
        case .header(let structure):
            if isComplete, let reader = TIFFReader(bytes), let first = reader.offset(at: reader.isBig ? 8 : 4) {
                try checkPixels(reader, first)
            }
            return .info(structure.info(bytes))
        }
    }
}

extension Int {
    /// Returns the sum, or the maximum on overflow.
    func saturating(plus other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
