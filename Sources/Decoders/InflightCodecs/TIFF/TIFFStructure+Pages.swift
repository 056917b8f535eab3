import InflightCore

extension TIFFStructure {
    /// What the directory of one page of a whole file says, from 1: the first is ``readHeader(_:)``'s.
    ///
    /// Up to that page the list has to be whole; what is behind it is counted as far as it goes.
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
                throw PictureError.damaged(.tiff, "its list of pages has no end")
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
