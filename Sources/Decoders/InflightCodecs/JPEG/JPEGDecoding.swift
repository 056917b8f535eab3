internal import CInflightCodecs
import InflightImages

/// A decode of one JPEG image into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size `init` checks against the plan.
@safe struct JPEGDecoding {
    let reader: JPEGReader
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let transform: ColorTransform?

    init(
        reader: JPEGReader, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer, transform: ColorTransform?
    ) {
        precondition(target.count >= plan.width * plan.height * 4)
        self.reader = reader
        self.plan = plan
        unsafe self.target = unsafe target
        self.transform = transform
    }

    private var isCMYK: Bool {
        Int(reader.header.color) == INFLIGHT_JPEG_CMYK || Int(reader.header.color) == INFLIGHT_JPEG_YCCK
    }

    func run() throws(LoadError) {
        let width = Int(reader.header.width)
        let height = Int(reader.header.height)
        if plan.scaledWidth == width, plan.scaledHeight == height {
            try decodeRows(width: width, height: height)
        } else if plan.light == .linear {
            return try decodeLight(width: width, height: height)
        } else {
            try decodePlanes()
        }
        try reader.finish()
        if let transform {
            unsafe transform.apply(target, pixelCount: plan.width * plan.height)
        } else if isCMYK {
            unsafe CMYKConversion.convert(target, pixelCount: plan.width * plan.height)
        }
    }

    /// Decodes at the original size, with the library's rows.
    private func decodeRows(width: Int, height: Int) throws(LoadError) {
        try reader.startRows()
        let base = unsafe target.baseAddress!.assumingMemoryBound(to: UInt8.self)
        guard plan.crops else {
            let band = max(1, 65_536 / width)
            for y in stride(from: 0, to: height, by: band) {
                let count = min(band, height - y)
                try unsafe reader.readRows(base + y * width * 4, bytesPerRow: width * 4, count: count)
            }
            return
        }
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: width * 4)
        defer { unsafe row.deallocate() }
        // The rows below the crop are read too, because damage there is an error as well.
        for y in 0..<height {
            try unsafe reader.readRows(row, bytesPerRow: width * 4, count: 1)
            guard y >= plan.cropY, y < plan.cropY + plan.height else { continue }
            unsafe (base + (y - plan.cropY) * plan.width * 4)
                .update(from: row + plan.cropX * 4, count: plan.width * 4)
        }
    }

    /// Decodes all colours to resize in linear light. The library's scaling in its transform adds encoded samples.
    private func decodeLight(width: Int, height: Int) throws(LoadError) {
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: width, sourceHeight: height, alpha: .opaque, plan: plan, target: target, transform: transform)
        try reader.startRows()
        let row = UnsafeMutableRawBufferPointer.allocate(byteCount: width * 4, alignment: 16)
        defer { unsafe row.deallocate() }
        let pixels = unsafe row.assumingMemoryBound(to: UInt8.self).baseAddress!
        for _ in 0..<height {
            try unsafe reader.readRows(pixels, bytesPerRow: width * 4, count: 1)
            if isCMYK, transform == nil {
                unsafe CMYKConversion.convert(row, pixelCount: width)
            }
            unsafe resizer.push(pixels)
        }
        try reader.finish()
        resizer.finish()
    }

    /// Returns the library's largest reduction that leaves twice the requested size.
    static func denominator(width: Int, height: Int, _ plan: Resize.Plan) -> Int {
        if plan.light == .linear { return 1 }
        var denominator = 8
        while denominator > 1,
            width < 2 * denominator * plan.scaledWidth || height < 2 * denominator * plan.scaledHeight
        {
            denominator /= 2
        }
        return denominator
    }

    private func decodePlanes() throws(LoadError) {
        let resizer = try Self.resizedPlanes(reader, plan)
        let base = unsafe target.baseAddress!.assumingMemoryBound(to: UInt8.self)
        for y in 0..<plan.height {
            let row = unsafe base + y * plan.width * 4
            switch Int(reader.header.color) {
            case INFLIGHT_JPEG_GRAY:
                unsafe PlaneColors.gray(resizer.row(0, y), width: plan.width, into: row)
            case INFLIGHT_JPEG_YCC:
                unsafe PlaneColors.fullRange(
                    resizer.row(0, y), resizer.row(1, y), resizer.row(2, y), width: plan.width, into: row)
            case INFLIGHT_JPEG_RGB:
                unsafe PlaneColors.rgb(
                    resizer.row(0, y), resizer.row(1, y), resizer.row(2, y), width: plan.width, into: row)
            case INFLIGHT_JPEG_YCCK:
                unsafe PlaneColors.fullRange(
                    resizer.row(0, y), resizer.row(1, y), resizer.row(2, y), width: plan.width, into: row)
                // The inks are the complements of the colours (Adobe technical note 5116).
                for offset in 0..<plan.width * 4 { unsafe row[offset] = 255 - row[offset] }
                unsafe PlaneColors.fourth(resizer.row(3, y), width: plan.width, into: row)
            default:
                unsafe PlaneColors.rgb(
                    resizer.row(0, y), resizer.row(1, y), resizer.row(2, y), width: plan.width, into: row)
                unsafe PlaneColors.fourth(resizer.row(3, y), width: plan.width, into: row)
            }
        }
    }

    /// Decodes the planes at a reduced size, and resizes them.
    static func resizedPlanes(
        _ reader: JPEGReader, _ plan: Resize.Plan, halvesChroma: Bool = false
    ) throws(LoadError) -> PlaneResizer {
        let denominator = denominator(width: Int(reader.header.width), height: Int(reader.header.height), plan)
        let layout = try reader.startPlanes(denominator: denominator)
        let bands = JPEGPlaneBands(layout.planes)
        let resizer = PlaneResizer(
            sizes: layout.planes.map { (Int($0.width), Int($0.height)) }, pictureWidth: layout.width,
            pictureHeight: layout.height, plan: plan, halvesChroma: halvesChroma)
        while try unsafe reader.readPlanes(bands.memory) {
            bands.drain(into: resizer)
        }
        bands.drain(into: resizer)
        return resizer
    }

    /// Returns the transform to sRGB, if the file has a profile that fits its components.
    static func transform(_ structure: JPEGStructure, _ bytes: Bytes) -> ColorTransform? {
        let kind: ColorTransform.Kind =
            switch structure.componentCount {
            case 1: .gray
            case 3: .rgb
            default: .invertedCMYK
            }
        return structure.profile(in: bytes).flatMap { ColorTransform.forProfile($0, kind: kind) }
    }
}

/// Converts inverted CMYK to RGB without a profile: each ink absorbs its share of the light.
///
/// Adobe's programs write inverted samples. So do others, with and without Adobe's marker, and viewers expect them.
enum CMYKConversion {
    static func convert(_ pixels: UnsafeMutableRawBufferPointer, pixelCount: Int) {
        guard let base = pixels.baseAddress else { return }
        for index in 0..<pixelCount {
            let inks = unsafe base.loadUnaligned(fromByteOffset: 4 &* index, as: SIMD4<UInt8>.self)
            let light = SIMD4<UInt32>(truncatingIfNeeded: inks) &* UInt32(inks[3]) &+ 127
            var pixel = SIMD4<UInt8>(truncatingIfNeeded: (light &* 257 &+ 257) &>> 16)
            pixel[3] = 255
            unsafe base.storeBytes(of: pixel, toByteOffset: 4 &* index, as: SIMD4<UInt8>.self)
        }
    }
}
