import InflightImages

extension TIFFStructure {
    /// Checks that the strips or tiles of the page at `start` are within the file.
    ///
    /// The byte counts may be missing, and too large if the data is not compressed: libtiff calculates them itself.
    static func checkPixels(_ reader: TIFFReader, _ start: Int) throws(LoadError) {
        let (entries, _) = try entries(reader, start)
        for (offsetsTag, countsTag) in [
            (Tag.stripOffsets, Tag.stripByteCounts), (Tag.tileOffsets, Tag.tileByteCounts),
        ] {
            guard let offsets = entries[offsetsTag], offsets.count > 0 else { continue }
            let counts = entries[countsTag]
            guard let offsetsEnd = offsets.end, offsetsEnd <= reader.bytes.count,
                let countsEnd = counts == nil ? 0 : counts?.end, countsEnd <= reader.bytes.count
            else { throw CodecError.truncated(.tiff) }
            let blocks = Blocks(reader, entries)
            for index in 0..<min(offsets.count, counts?.count ?? .max) {
                guard let offset = reader.value(offsets, at: index), offset < reader.bytes.count else {
                    throw CodecError.truncated(.tiff)
                }
                let count = counts.flatMap { reader.value($0, at: index) } ?? 0
                if offset.saturating(plus: count) <= reader.bytes.count { continue }
                guard let blocks, blocks.compression == 1, let length = blocks.storedBytes(at: index),
                    offset.saturating(plus: length) <= reader.bytes.count
                else {
                    throw CodecError.damaged(
                        .tiff, "its pixels end behind the end of the file, which is truncated or has wrong byte counts")
                }
            }
            return
        }
        throw CodecError.damaged(.tiff, "no image data")
    }

    /// Returns the memory in bytes that the decoder needs for strips or tiles of a page, or `nil` if the page's
    /// directory is not available.
    static func blockMemory(of page: Int, in bytes: Bytes) -> Int? {
        guard let reader = TIFFReader(bytes), var position = reader.offset(at: reader.isBig ? 8 : 4) else { return nil }
        for _ in 0..<min(max(0, page), maximumPages) {
            guard let count = reader.entryCount(at: position), (1...0xFFFF).contains(count),
                let next = reader.offset(at: position + reader.countLength + count * reader.entryLength)
            else { return nil }
            position = next
        }
        guard let (entries, _) = try? entries(reader, position), let blocks = Blocks(reader, entries) else {
            return nil
        }
        // libtiff copies the compressed data of one strip or tile, of which a file may have only one.
        return blocks.memory.saturating(plus: bytes.count)
    }

    /// The sizes of a page's strips or tiles.
    struct Blocks {
        var compression = 1
        private var bits = 1
        private var samples = 1
        private var isSeparate = false
        private var width = 0
        private var height = 0
        private var columns = 0
        private var rows = 0
        private var isTiled = false
        /// The number of YCbCr pixels that share their chroma; 1 and 1 if libjpeg converts them.
        private var across = 1
        private var down = 1

        /// Returns `nil` if a size is missing.
        init?(_ reader: TIFFReader, _ entries: [Int: TIFFReader.Entry]) {
            func number(_ tag: Int, at index: Int = 0) -> Int? {
                entries[tag].flatMap { reader.value($0, at: index) }
            }
            guard let width = number(Tag.width), let height = number(Tag.height), width > 0, height > 0 else {
                return nil
            }
            (self.width, self.height) = (width, height)
            compression = number(Tag.compression) ?? 1
            bits = number(Tag.bitsPerSample) ?? 1
            samples = number(Tag.samplesPerPixel) ?? 1
            isSeparate = number(Tag.planarConfiguration) == 2 && samples > 1
            isTiled = entries[Tag.tileWidth] != nil
            columns = isTiled ? number(Tag.tileWidth) ?? 0 : width
            rows = isTiled ? number(Tag.tileLength) ?? 0 : min(number(Tag.rowsPerStrip) ?? height, height)
            guard columns > 0, rows > 0, samples > 0, (1...64).contains(bits) else { return nil }
            if number(Tag.photometric) == 6, compression != Self.jpeg {
                across = number(Tag.chromaSubsampling) ?? 2
                down = number(Tag.chromaSubsampling, at: 1) ?? 2
            }
        }

        private static let jpeg = 7
        /// The compressions whose rows are decoded one by one, as in `tiff.c`.
        private static let rowCompressions: Set<Int> = [1, 5, jpeg, 8, 32_773, 32_946, 34_925, 50_000]

        private var isSubsampled: Bool { across > 1 || down > 1 }

        private func rowBytes(_ samples: Int) -> Int {
            columns.saturating(times: samples).saturating(times: bits) / 8 + 1
        }

        /// Returns the number of bytes of an uncompressed strip or tile, or `nil` if its chroma is subsampled.
        func storedBytes(at index: Int) -> Int? {
            guard !isSubsampled else { return nil }
            let bits = columns.saturating(times: isSeparate ? 1 : samples).saturating(times: bits)
            let perPlane = (height - 1) / rows + 1
            let rows = isTiled ? rows : min(rows, height - index % perPlane * rows)
            return (bits.saturating(plus: 7) / 8).saturating(times: rows)
        }

        /// The bytes of the strips or tiles that are decoded at once: those of the same rows.
        var memory: Int {
            let row = rowBytes(isSeparate ? 1 : samples)
            // Large strips are read row by row, unless a row is only available with the whole strip.
            if !isTiled, !isSeparate, !isSubsampled, Self.rowCompressions.contains(compression) {
                return min(row.saturating(times: rows), max(row, 1 << 20))
            }
            let blocks = (isSeparate ? samples : 1).saturating(times: (width - 1) / columns + 1)
            // Subsampled chroma is unpacked from a copy with up to three samples per pixel.
            let block = row.saturating(times: rows).saturating(times: isSubsampled ? 2 : 1)
            return block.saturating(times: blocks)
        }
    }
}

extension Int {
    /// Returns the product of two numbers that are not negative, or the maximum on overflow.
    fileprivate func saturating(times other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
