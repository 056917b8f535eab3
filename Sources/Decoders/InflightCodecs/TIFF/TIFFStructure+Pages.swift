import InflightImages

extension TIFFStructure {
    /// Parses the directory of one page of a complete file, from 1: page 0 is ``readHeader(_:)``'s.
    ///
    /// The list must be valid up to that page; the pages behind it are counted as far as possible.
    static func page(_ page: Int, in bytes: Bytes) throws(LoadError) -> ImageInfo {
        guard case .header(let whole) = try readHeader(bytes), let reader = TIFFReader(bytes),
            var position = reader.offset(at: reader.isBig ? 8 : 4)
        else { throw CodecError.truncated(.tiff) }
        guard page > 0, page < maximumPages else { throw CodecError.pageOutOfRange(page, of: whole.pageCount) }
        var seen: Set<Int> = [position]
        for number in 1...page {
            guard let count = reader.entryCount(at: position), (1...0xFFFF).contains(count),
                let next = reader.offset(at: position + reader.countLength + count * reader.entryLength)
            else { throw CodecError.truncated(.tiff) }
            guard next >= reader.headerLength else { throw CodecError.pageOutOfRange(page, of: number) }
            guard seen.insert(next).inserted else {
                throw CodecError.damaged(.tiff, "endless list of pages")
            }
            position = next
        }
        var structure = TIFFStructure()
        guard case .next = try structure.read(reader, position) else { throw CodecError.truncated(.tiff) }
        try checkPixels(reader, position)
        structure.pageCount = whole.pageCount
        structure.mayHaveMorePages = whole.mayHaveMorePages
        return structure.info(bytes)
    }
}
