import InflightCodecs
import InflightCore
import InflightPictures
import Testing

@Suite("TIFF directories", .timeLimit(.minutes(10)))
struct TIFFTests {
    @Test("A header is read in both byte orders and with both offset sizes")
    func orders() throws {
        for (isLittle, isBig) in [(true, false), (false, false), (true, true), (false, true)] {
            var pieces = TIFFPieces()
            pieces.isLittle = isLittle
            pieces.isBig = isBig
            pieces.fields = [(274, [6], false)]
            let info = try isolatedInfo(pieces.file, .tiff)
            #expect(info.storedWidth == 16 && info.storedHeight == 12 && info.orientation == .right)
            #expect(info.width == 12 && info.bitsPerComponent == 8 && info.colorModel == .rgb && !info.hasAlpha)
            #expect(info.frameCount == 1 && !info.mayHaveMoreFrames)
            #expect(isolatedDamage(pieces.file, .tiff) == nil)
        }
    }

    @Test("Colour model and alpha follow from the photometric and extra sample tags")
    func colors() throws {
        let cases: [(photometric: Int, samples: Int, extra: Int?, model: ImageInfo.ColorModel, hasAlpha: Bool)] = [
            (0, 1, nil, .gray, false), (1, 2, 2, .gray, true), (2, 4, 1, .rgb, true), (2, 4, 2, .rgb, true),
            (2, 4, 0, .rgb, false), (2, 4, nil, .rgb, false), (3, 1, nil, .indexed, false), (5, 4, nil, .cmyk, false),
            (5, 5, 2, .cmyk, true), (6, 3, nil, .rgb, false), (5, 4, 2, .cmyk, false),
        ]
        for (photometric, samples, extra, model, hasAlpha) in cases {
            var pieces = TIFFPieces()
            pieces.photometric = photometric
            pieces.samples = samples
            pieces.bits = 16
            if let extra { pieces.fields = [(338, [extra], false)] }
            let info = try isolatedInfo(pieces.file, .tiff)
            #expect(info.colorModel == model && info.hasAlpha == hasAlpha && info.bitsPerComponent == 16)
        }
    }

    @Test("Probing requests a directory at the end of the file and a profile after it")
    func late() throws {
        var pieces = TIFFPieces()
        pieces.profile = Pieces.profile(order: [0, 1, 2], gamma: 1.8, name: "Wide")
        let file = pieces.file
        #expect(try isolatedInfo(file, .tiff).profileName == "Wide")
        var length = 64
        var looks = 0
        while case .needsMoreBytes(let count) = try IsolatedFormats.probe(
            Bytes(Array(file[..<length])), format: .tiff, isComplete: false)
        {
            #expect(count > length)
            length = min(count, file.count)
            looks += 1
        }
        #expect(looks <= 4 && length > pieces.directory)
    }

    @Test("Pages are counted, and a page list that loops is damaged")
    func pages() throws {
        var pieces = TIFFPieces()
        let first = pieces.file
        pieces.next = pieces.directory
        #expect(try isolatedInfo(pieces.file, .tiff).frameCount == 1)
        #expect(isolatedDamage(pieces.file, .tiff) == .damaged)
        // A second page at the end of the file, which links back to the first.
        let again = Array(first[pieces.directory...])
        for (back, damage) in [(0, nil), (pieces.directory, LoadError.Code.damaged)] {
            pieces.next = first.count
            var second = again
            let place = 2 + 12 * Int(again[0])
            second.replaceSubrange(place..<place + 4, with: pieces.number(back, 4))
            #expect(try isolatedInfo(pieces.file + second, .tiff).frameCount == 2)
            #expect(isolatedDamage(pieces.file + second, .tiff) == damage)
        }
    }

    @Test("A pointer to no page ends the list of pages, but is not the end of a body without a length")
    func dangling() throws {
        let last = TIFFPieces()
        let whole = TIFFPieces.file([TIFFPieces(), last])
        #expect(IsolatedFormats.hasEndMarker(Bytes(whole), format: .tiff))
        // Behind the file; into the pixels, where no directory is; and to a directory without a size.
        for end in [1 << 30, whole.count, 9, whole.count - 8] {
            for file in [TIFFPieces.file([last], end: end), TIFFPieces.file([TIFFPieces(), last], end: end)] {
                #expect(isolatedDamage(file, .tiff) == nil && isolatedCode(file, .tiff) == nil, "\(end)")
                #expect(!IsolatedFormats.hasEndMarker(Bytes(file), format: .tiff), "\(end)")
            }
        }
        var far = TIFFPieces()
        far.next = 1 << 30
        #expect(try isolatedInfo(far.file, .tiff).mayHaveMoreFrames)
        // The first page must be whole, and so must the pixels of the pages that there are.
        #expect(isolatedDamage(Array(whole[..<(far.directory + 20)]), .tiff) == .damaged)
    }

    @Test("Byte counts may be missing, or too large for data that is not compressed")
    func byteCounts() {
        for (isTiled, compression) in [(false, 1), (true, 1), (false, 5)] {
            for count in [nil, 0, 1 << 20, 0xFFFF_FFFF] {
                var pieces = TIFFPieces()
                pieces.compression = compression
                pieces.pixels = [UInt8](repeating: 7, count: isTiled ? 16 * 16 * 3 : 16 * 12 * 3)
                pieces.omitted = isTiled ? [273, 278, 279] : [279]
                if isTiled { pieces.fields = [(322, [16], false), (323, [16], false), (324, [8], true)] }
                if let count { pieces.fields.append((isTiled ? 325 : 279, [count], true)) }
                let isFine = compression == 1 || (count ?? 0) == 0
                #expect(
                    isolatedDamage(pieces.file, .tiff) == (isFine ? nil : .damaged), "\(compression), \(count ?? -1)")
                #expect(isolatedCode(pieces.file, .tiff) == (isFine ? nil : .damaged))
                // Not even the pixels are there.
                let directory = pieces.directory
                pieces.pixels.removeLast(pieces.pixels.count - 2)
                pieces.before = directory - pieces.directory
                pieces.fields = pieces.fields.map { $0.tag == 324 ? (324, [directory - 2], true) : $0 }
                if !isTiled { continue }
                pieces.fields = pieces.fields.map { $0.tag == 324 ? (324, [pieces.file.count - 2], true) : $0 }
                if (count ?? 0) > 0 { #expect(isolatedDamage(pieces.file, .tiff) == .damaged) }
            }
        }
    }

    @Test("The estimate of memory counts strips and tiles that are decoded at once, without overflow")
    func memory() throws {
        func needed(_ change: (inout TIFFPieces) -> Void) throws -> Int {
            var pieces = TIFFPieces()
            pieces.width = 4000
            pieces.height = 3000
            change(&pieces)
            var info = try isolatedInfo(TIFFPieces().file, .tiff)
            (info.storedWidth, info.storedHeight) = (pieces.width, pieces.height)
            return IsolatedFormats.memoryNeeded(
                Bytes(pieces.file), format: .tiff, info: info, options: DecodeOptions()) - 4 * 4000 * 3000
        }
        let small = 3 << 20
        #expect(try needed { _ in } < small, "one strip, read row by row")
        #expect(try needed { $0.fields = [(284, [2], false)] } > 3 * 4000 * 3000, "planes of one strip each")
        #expect(try needed { $0.compression = 34_712 } > 3 * 4000 * 3000, "a strip that is decoded as a whole")
        #expect(
            try needed {
                $0.omitted = [278]
                $0.fields = [(278, [16], true), (284, [2], false)]
            } < small, "planes of many strips")
        #expect(
            try needed { $0.fields = [(322, [256], false), (323, [256], false)] } > 3 * 4000 * 256, "a row of tiles")
        #expect(try needed { $0.photometric = 6 } > 2 * 3 * 4000 * 3000, "a copy of subsampled chroma")
        #expect(try needed { $0.fields = [(322, [0x7FFF_FFFF], true), (323, [0x7FFF_FFFF], true)] } > 1 << 50)
        #expect(
            try needed {
                $0.fields = [(322, [0xFFFF_FFFF], true), (323, [0xFFFF_FFFF], true), (284, [2], false)]
                $0.omitted = [277]
                $0.fields.append((277, [0xFFFF], false))
            } > 1 << 50)
    }

    @Test("Pixel data outside the file is damaged, already when a complete file is probed")
    func outside() {
        for (tag, value) in [(324, 1 << 30), (324, 0xFFFF_FFFF)] {
            var pieces = TIFFPieces()
            pieces.fields = [(tag, [value], true), (325, [10], true)]
            #expect(isolatedDamage(pieces.file, .tiff) == nil, "its strips are looked at")
        }
        var pieces = TIFFPieces()
        pieces.fields = [(273, [1 << 30], true)]
        let file = pieces.file
        #expect(isolatedCode(file, .tiff) == nil, "of two fields the first counts")
        var short = TIFFPieces()
        let whole = short.file
        short.pixels += [UInt8](repeating: 0, count: 1 << 16)
        // The directory of a longer file, moved to where the pixels should be.
        let moved = Array(whole[..<4]) + short.number(8, 4) + short.file[short.directory...]
        #expect(isolatedCode(moved, .tiff) == .damaged && isolatedDamage(moved, .tiff) == .damaged)
    }

    @Test("An invalid TIFF header is damaged")
    func broken() {
        for change in [
            { (pieces: inout TIFFPieces) in pieces.width = 0 }, { $0.height = 0 }, { $0.bits = 0 }, { $0.bits = 65 },
            { $0.width = 0xFFFF_FFFF },
        ] {
            var pieces = TIFFPieces()
            change(&pieces)
            #expect(isolatedCode(pieces.file, .tiff) == .damaged)
        }
        let file = TIFFPieces().file
        for start in [0, 4, 7, 0x7FFF_FFFF, 0xFFFF_FFFF] {
            var other = file
            other.replaceSubrange(4..<8, with: Pieces.little32(start))
            #expect(isolatedCode(other, .tiff) == .damaged)
        }
        var big = TIFFPieces()
        big.isBig = true
        for offset in [[UInt8](repeating: 0xFF, count: 8), [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x3F]] {
            var other = big.file
            other.replaceSubrange(8..<16, with: offset)
            #expect(isolatedCode(other, .tiff) == .damaged)
        }
    }

    private func code(_ page: Int, _ bytes: [UInt8]) -> LoadError? {
        do throws(LoadError) {
            _ = try IsolatedFormats.info(Bytes(bytes), format: .tiff, page: page)
            return nil
        } catch {
            return error
        }
    }

    @Test("Each page gives its own info, and a page out of range is rejected")
    func eachPage() throws {
        for (isLittle, isBig) in [(true, false), (false, false), (true, true), (false, true)] {
            let pages = (0..<3).map { index in
                var pieces = TIFFPieces()
                (pieces.isLittle, pieces.isBig) = (isLittle, isBig)
                pieces.width = 16 - index
                pieces.fields = [(274, [index + 1], false)]
                return pieces
            }
            let file = TIFFPieces.file(pages)
            for page in 0..<3 {
                let info = try IsolatedFormats.info(Bytes(file), format: .tiff, page: page)
                #expect(info.storedWidth == 16 - page && info.orientation.rawValue == page + 1 && info.frameCount == 3)
            }
            for page in [3, 4, 1 << 16, Int.max, -1, Int.min] {
                let error = code(page, file)
                #expect(error?.code == .invalidRequest && error?.message.contains("from 1 to 3") == true)
            }
            #expect(isolatedDamage(file, .tiff) == nil)
        }
        for format in [ImageFormat.avif, .svg] {
            #expect(throws: LoadError.self) { try IsolatedFormats.info(Bytes([1, 2]), format: format, page: 1) }
        }
    }

    @Test("A page list that loops or leaves the file yields the pages before that point")
    func loops() throws {
        let two = [TIFFPieces(), TIFFPieces()]
        let first = TIFFPieces().directory
        for end in [first, TIFFPieces.file(two).count + 100] {
            let file = TIFFPieces.file(two, end: end)
            #expect(code(0, file) == nil && code(1, file) == nil)
            #expect(code(2, file)?.code == .damaged && code(1000, file)?.code == .damaged)
        }
        // Missing pixels damage only the page that they belong to.
        var lost = TIFFPieces.file(two)
        let offsets: [UInt8] = [0x11, 1, 4, 0, 1, 0, 0, 0]
        let place = try #require((0..<lost.count - 12).last { Array(lost[$0..<$0 + 8]) == offsets })
        lost.replaceSubrange(place + 8..<place + 12, with: Pieces.little32(1 << 30))
        #expect(code(0, lost) == nil && code(1, lost)?.code == .damaged)
    }
}
