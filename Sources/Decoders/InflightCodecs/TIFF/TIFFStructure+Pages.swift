import InflightImages

extension TIFFStructure {
    /// Parses the directory of one page of a complete file, from 1: page 0 is ``readHeader(_:)``'s.
    ///
    /// The list must be valid up to that page; the pages behind it are counted as far as possible.
    static func page(_ page: Int, in bytes: Bytes) throws(LoadError) -> ImageInfo {
        guard case .header(let whole) = try readHeader(bytes), let reader = TIFFReader(bytes),
            var position = reader.offset(at: reader.isBig ? 8 : 4)
        else { throw PictureError.cutShort(.tiff) }
        guard page > 0, page < mostPages else { throw PictureError.noPage(page, of: whole.pageCount) }
        var seen: Set<Int> = [position]
        for number in 1...page {
            guard let count = reader.entryCount(at: position), (1...0xFFFF).contains(count),
                let next = reader.offset(at: position + reader.countLength + count * reader.entryLength)
            else { throw PictureError.cutShort(.tiff) }
            guard next >= reader.headerLength else { throw PictureError.noPage(page, of: number) }
            guard seen.insert(next).inserted else {
                throw PictureError.damaged(.tiff, "endless list of pages")
            }
            position = next
        }
        var structure = TIFFStructure()
        guard case .next = try structure.read(reader, position) else { throw PictureError.cutShort(.tiff) }
        try checkPixels(reader, position)
        structure.pageCount = whole.pageCount
        structure.mayHaveMorePages = whole.mayHaveMorePages
        return structure.info(bytes)
    }
}
