internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// Decodes a JPEG image of which only a part was received.
struct JPEGPartialDecoding {
    private let bytes: Bytes
    private let structure: JPEGStructure
    private let options: DecodeOptions
    private let cancellation: CancellationFlag

    init(_ bytes: Bytes, options: DecodeOptions, cancellation: CancellationFlag) throws(LoadError) {
        self.bytes = bytes
        structure = try JPEGStructure.wholeHeader(bytes)
        self.options = options
        self.cancellation = cancellation
    }

    func decode(beyond detail: Int) throws(LoadError) -> PartialImage? {
        structure.isProgressive || structure.hasManyScans ? try decodeScans(beyond: detail) : try decodeRows()
    }

    // MARK: Scans

    private func decodeScans(beyond detail: Int) throws(LoadError) -> PartialImage? {
        let ends = JPEGStructure.wholeScans(bytes)
        var count = ends.count
        // The received part of the next scan improves the image, unless nothing tells where arithmetic data ends.
        var end = structure.isArithmetic ? ends.last ?? 0 : bytes.count
        while count > detail {
            var damagedScan = count
            let part = try unsafe structure.info(bytes).makePart(
                options, coversAll: true, cancellation: cancellation
            ) { (plan, target) throws(LoadError) in
                let isWhole = try LoadError.upToDamage { () throws(LoadError) in
                    try JPEGReader.with(bytes.part(0..<end), cancellation, acceptsEnd: true) {
                        (reader) throws(LoadError) in
                        defer { damagedScan = reader.scanNumber }
                        try unsafe JPEGDecoding(reader: reader, plan: plan, target: target, transform: transform).run()
                    }
                }
                return isWhole ? PartialImage.Filled(detail: count) : nil
            }
            if let part { return part }
            // The scans before the damaged one form an image.
            count = min(end > ends[count - 1] ? count : count - 1, damagedScan - 1)
            if count > 0 { end = ends[count - 1] }
        }
        return nil
    }

    // MARK: Rows

    private func decodeRows() throws(LoadError) -> PartialImage? {
        try unsafe structure.info(bytes).makePart(options, coversAll: false, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var count = 0
            var height = 0
            let isWhole = try LoadError.upToDamage { () throws(LoadError) in
                try JPEGReader.with(bytes, cancellation, acceptsEnd: !structure.isArithmetic) {
                    (reader) throws(LoadError) in
                    let size = try reader.startRows(
                        denominator: JPEGDecoding.denominator(
                            width: Int(reader.header.width), height: Int(reader.header.height), plan))
                    height = size.height
                    let rows = unsafe PartialRows(
                        width: size.width, height: height, plan: plan, target: target, transform: nil)
                    defer { rows.finish() }
                    let toColors = unsafe toColors
                    _ = try LoadError.upToDamage { () throws(LoadError) in
                        try unsafe rows.push(cancellation) { (row) throws(LoadError) in
                            try unsafe reader.readRows(row, bytesPerRow: size.width * 4, count: 1)
                            unsafe toColors(UnsafeMutableRawBufferPointer(start: row, count: size.width * 4))
                        }
                    }
                    count = rows.count
                }
            }
            guard isWhole, count > 0 else { return nil }
            return PartialImage.Filled(detail: count, isFinal: count == height)
        }
    }

    /// Returns the conversion of a row from the library to sRGB with alpha.
    private var toColors: (UnsafeMutableRawBufferPointer) -> Void {
        let transform = transform
        let isCMYK = structure.componentCount == 4
        return { row in
            if let transform {
                unsafe transform.apply(row, pixelCount: row.count / 4)
            } else if isCMYK {
                unsafe CMYKConversion.convert(row, pixelCount: row.count / 4)
            }
            guard isCMYK else { return }
            for alpha in stride(from: 3, to: row.count, by: 4) { unsafe row[alpha] = 255 }
        }
    }

    private var transform: ColorTransform? { JPEGDecoding.transform(structure, bytes) }
}
