internal import CInflightCodecs
import Glibc
import InflightImages

/// The segments of a JPEG file (ITU-T T.81 annex B), parsed without decoding.
struct JPEGStructure: FileStructure {
    static let format = ImageFormat.jpeg

    var width = 0
    var height = 0
    var componentCount = 0
    var isProgressive = false
    var isArithmetic = false
    /// Whether the first scan lacks components. The decoder then holds all coefficients, as for progressive images.
    var hasManyScans = false
    /// The horizontal and vertical sampling factor of each component.
    private var sampling: [(across: Int, down: Int)] = []
    var orientation: ImageInfo.Orientation?
    /// The ranges of the colour profile's parts in file order, with their own numbers and totals.
    var profileParts: [(number: Int, total: Int, range: Range<Int>)] = []
    /// The EXIF metadata, from its byte order mark.
    var exif: Range<Int>?
    var xmp: Range<Int>?
    private var adobeTransform: Int?
    /// The position of the first scan.
    private var scanStart = 0

    var colorModel: ImageInfo.ColorModel {
        switch componentCount {
        case 1: .gray
        case 4: adobeTransform == 2 ? .ycck : .cmyk
        default: .rgb
        }
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .jpeg, storedWidth: width, storedHeight: height, orientation: orientation ?? .up,
            colorModel: colorModel, profileName: profileParts.first.flatMap { ICCProfile(bytes, $0.range).name },
            isProgressive: isProgressive)
    }

    /// Reads up to the first scan.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<JPEGStructure> {
        var structure = JPEGStructure()
        var position = 2
        while true {
            switch try structure.segment(bytes, &position) {
            case .ended:
                structure.scanStart = position
                return .header(structure)
            case .next: continue
            case .needs(let count): return .needsMoreBytes(count)
            }
        }
    }

    /// Parses to the end of the image.
    ///
    /// - Returns: whether its end marker was found. If not, only decoding can tell whether it has all of its data.
    /// - Throws: ``LoadError/Code/damaged`` if the bytes before the first scan are malformed or truncated.
    static func walk(_ bytes: Bytes) throws(LoadError) -> Bool {
        var structure = try wholeHeader(bytes)
        var position = structure.scanStart
        while bytes.byte(at: position + 1) == 0xDA {
            guard let length = bytes.big16(at: position + 2), position + 2 + length <= bytes.count,
                let end = endOfScan(bytes, from: position + 2 + length)
            else { return false }
            position = end
            var step = Step.next
            while case .next = step {
                guard let next = try? structure.segment(bytes, &position, hasScan: true) else { return false }
                step = next
            }
            guard case .ended = step else { return false }
        }
        return true
    }

    /// The memory of all coefficients in bytes, two each, in whole blocks of 64; 0 if they are not all held.
    var coefficientBytes: Int {
        guard isProgressive || hasManyScans else { return 0 }
        let most = (
            across: max(1, sampling.map(\.across).max() ?? 1), down: max(1, sampling.map(\.down).max() ?? 1)
        )
        return sampling.reduce(0) { sum, factors in
            let across = (width * factors.across + 8 * most.across - 1) / (8 * most.across) + factors.across
            let down = (height * factors.down + 8 * most.down - 1) / (8 * most.down) + factors.down
            return sum + across * down * 128
        }
    }

    /// Returns the end of each scan whose next marker is available, up to the first damage.
    static func wholeScans(_ bytes: Bytes) -> [Int] {
        var structure = JPEGStructure()
        var position = 2
        var ends: [Int] = []
        while ends.count < maximumScans {
            guard let step = try? structure.segment(bytes, &position, hasScan: !ends.isEmpty) else { break }
            if case .next = step { continue }
            guard case .ended = step, bytes.byte(at: position + 1) == 0xDA,
                let length = bytes.big16(at: position + 2), position + 2 + length <= bytes.count,
                let end = endOfScan(bytes, from: position + 2 + length)
            else { break }
            ends.append(end)
            position = end
        }
        return ends
    }

    /// The decoder's maximum number of scans. Files with more were made to waste processor time.
    static let maximumScans = INFLIGHT_JPEG_MAXIMUM_SCANS

    private enum Step {
        case next, ended, needs(Int)
    }

    /// Parses the segment at `position` and advances behind it; stops before a scan and before the end of the image.
    private mutating func segment(
        _ bytes: Bytes, _ position: inout Int, hasScan: Bool = false
    ) throws(LoadError) -> Step {
        // Like decoders, skip bytes between two segments. Any number of 0xFF bytes may precede a marker.
        while let byte = bytes.byte(at: position), byte != 0xFF { position += 1 }
        while bytes.byte(at: position + 1) == 0xFF { position += 1 }
        guard let marker = bytes.byte(at: position + 1) else { return .needs(position + 64) }
        switch marker {
        case 0x00, 0x01, 0xD0...0xD7:
            position += 2
            return .next
        case 0xD8:
            throw CodecError.damaged(.jpeg, "a second image starts inside it")
        case 0xD9 where hasScan:
            return .ended
        case 0xD9:
            throw CodecError.damaged(.jpeg, "no image data")
        case 0xDA:
            guard width > 0 else { throw CodecError.damaged(.jpeg, "image data precedes the size") }
            if let count = bytes.byte(at: position + 4) { hasManyScans = hasManyScans || count < componentCount }
            return .ended
        default: break
        }
        guard let length = bytes.big16(at: position + 2) else { return .needs(position + 64) }
        if length < 2, (0xE0...0xEF).contains(marker) || marker == 0xFE {
            // A malformed application segment or comment is treated as empty, as in libjpeg and browsers.
            position += 4
            return .next
        }
        guard length >= 2 else { throw CodecError.damaged(.jpeg, "a segment without a length") }
        let content = position + 4..<position + 2 + length
        // Includes the next segment's marker and length, which are needed anyway.
        guard content.upperBound <= bytes.count else { return .needs(content.upperBound + 4) }
        switch marker {
        case 0xC0, 0xC1, 0xC2, 0xC9, 0xCA: try readFrame(bytes, content, marker)
        case 0xC3, 0xC5...0xC7, 0xCB, 0xCD...0xCF:
            throw CodecError.unsupported(.jpeg, "lossless or hierarchical")
        case 0xE1: readRecord(bytes, content)
        case 0xE2: readProfile(bytes, content)
        case 0xEE where content.count >= 12 && bytes.has("Adobe", at: content.lowerBound):
            adobeTransform = bytes.byte(at: content.lowerBound + 11)
        default: break
        }
        position = content.upperBound
        return .next
    }

    private mutating func readFrame(_ bytes: Bytes, _ content: Range<Int>, _ marker: Int) throws(LoadError) {
        let start = content.lowerBound
        guard content.count >= 6, width == 0 else { throw CodecError.damaged(.jpeg, "malformed frame header") }
        guard bytes[start] == 8 else { throw CodecError.unsupported(.jpeg, "\(bytes[start]) bits per sample") }
        height = bytes.big16(at: start + 1) ?? 0
        width = bytes.big16(at: start + 3) ?? 0
        componentCount = Int(bytes[start + 5])
        isProgressive = marker == 0xC2 || marker == 0xCA
        isArithmetic = marker >= 0xC9
        guard width > 0, height > 0, content.count == 6 + 3 * componentCount else {
            throw CodecError.damaged(.jpeg, "malformed frame header")
        }
        guard [1, 3, 4].contains(componentCount) else {
            throw CodecError.unsupported(.jpeg, "\(componentCount) colour components")
        }
        sampling = (0..<componentCount).map { index in
            let factors = bytes[start + 7 + 3 * index]
            return (Int(factors >> 4), Int(factors & 15))
        }
    }

    /// Records the first EXIF (CIPA DC-008 section 4.7.2) and XMP (XMP specification part 3 section 1.1.3) metadata.
    private mutating func readRecord(_ bytes: Bytes, _ content: Range<Int>) {
        let start = content.lowerBound
        if content.count > 6, bytes.has("Exif\0\0", at: start) {
            let record = start + 6..<content.upperBound
            exif = exif ?? record
            orientation = orientation ?? EXIFOrientation.find(in: bytes, record)
        } else if content.count > 29, bytes.has("http://ns.adobe.com/xap/1.0/\0", at: start) {
            xmp = xmp ?? start + 29..<content.upperBound
        }
    }

    private mutating func readProfile(_ bytes: Bytes, _ content: Range<Int>) {
        guard content.count > 14, bytes.has("ICC_PROFILE\0", at: content.lowerBound), profileParts.count < 255
        else { return }
        let number = Int(bytes[content.lowerBound + 12])
        let total = Int(bytes[content.lowerBound + 13])
        profileParts.append((number, total, content.lowerBound + 14..<content.upperBound))
    }

    /// Returns the joined profile, or `nil` if there is none, a part is missing, or it is too large.
    func profile(in bytes: Bytes) -> Bytes? {
        let parts = profileParts.sorted { $0.number < $1.number }
        guard let total = parts.first?.total, parts.count == total,
            parts.enumerated().allSatisfy({ $0.offset + 1 == $0.element.number && $0.element.total == total }),
            parts.reduce(0, { $0 + $1.range.count }) <= ICCProfile.maximumCount
        else { return nil }
        if parts.count == 1 { return bytes.slice(parts[0].range) }
        var joined: [UInt8] = []
        for part in parts {
            unsafe bytes.withUnsafeBytes { unsafe joined.append(contentsOf: $0[part.range]) }
        }
        return Bytes(joined)
    }

    /// Returns the position of the marker that ends the compressed data from `start`: any except a restart marker.
    private static func endOfScan(_ bytes: Bytes, from start: Int) -> Int? {
        unsafe bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress else { return nil }
            var position = start
            while position < memory.count - 1 {
                guard let found = unsafe memchr(base + position, 0xFF, memory.count - 1 - position) else { return nil }
                position = unsafe base.distance(to: UnsafeRawPointer(found))
                switch unsafe memory[position + 1] {
                case 0x00, 0xD0...0xD7: position += 2
                case 0xFF: position += 1
                default: return position
                }
            }
            return nil
        }
    }
}
