import Glibc

/// A placeholder of 13 to 25 bytes, with the aspect ratio and alpha of an image (E. Wallace: ThumbHash).
///
/// Luminance and two chroma channels each have an average and cosine components ("waves") of four bits.
/// Any thread may encode and decode.
public struct ThumbHash: Sendable, Hashable, CustomStringConvertible {
    /// The hash in binary form. If it was parsed, bytes after its end are included.
    public let bytes: [UInt8]

    /// The average and the components of a channel.
    private struct Channel {
        var average: Double = 0
        var waves: [Double] = []
        var scale: Double = 0
    }

    /// ``bytes`` as Base64 with padding, as servers send it.
    public var text: String { Base64.encoded(bytes) }
    public var description: String { text }

    /// Parses a hash in binary form. Bytes after its end do not affect the image, but are kept in ``bytes``.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if the header is invalid, or if there are fewer bytes than it requires.
    public init(_ bytes: [UInt8]) throws(LoadError) {
        guard bytes.count >= 5 else { throw Self.damaged("it has \(bytes.count) bytes, fewer than the minimum of 5") }
        self.bytes = bytes
        let header = Header(bytes)
        guard header.waves.x > 0, header.waves.y > 0, header.waves.x <= 7, header.waves.y <= 7 else {
            throw Self.damaged("its dimensions are invalid")
        }
        let needed = header.start + (header.waveCount + 1) / 2
        guard bytes.count >= needed else {
            throw Self.damaged("it has \(bytes.count) bytes; its header requires \(needed)")
        }
    }

    /// Parses a hash in Base64, with or without padding. White space is ignored.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if the text is not Base64, and as for the binary form.
    public init(_ text: String) throws(LoadError) {
        guard let bytes = Base64.decoded(Array(text.utf8)) else { throw Self.damaged("it is not Base64") }
        try self.init(bytes)
    }

    /// Creates the ThumbHash of an image, with its alpha.
    ///
    /// An image with a side above 100 pixels is downscaled first.
    public init(_ pixels: PixelBuffer) {
        let small = pixels.forPlaceholder
        let (width, height) = (small.width, small.height)
        let colors: [SIMD4<Double>] = unsafe small.withUnsafeBytes { memory in
            (0..<width * height).map { index in
                let offset = index / width * small.bytesPerRow + index % width * 4
                return unsafe SIMD4<Double>(PixelFloats.load(memory.baseAddress! + offset)) / 255
            }
        }
        let covered = colors.reduce(0) { $0 + $1[3] }
        var average = colors.reduce(SIMD4<Double>.zero) { $0 + $1 * $1[3] }
        if covered > 0 { average /= covered }
        let hasAlpha = covered < Double(width * height)
        // The longer side gets the maximum number of components.
        let limit = Double(hasAlpha ? 5 : 7)
        let longest = Double(max(width, height))
        let across = max(1, Int((limit * Double(width) / longest).rounded()))
        let down = max(1, Int((limit * Double(height) / longest).rounded()))
        // Luminance, yellow against blue, and red against green, composited over the average.
        let parts = colors.map { color -> SIMD4<Double> in
            let alpha = color[3]
            let over = average * (1 - alpha) + color * alpha
            return SIMD4(
                (over[0] + over[1] + over[2]) / 3, (over[0] + over[1]) / 2 - over[2], over[0] - over[1], alpha)
        }
        func channel(_ index: Int, _ across: Int, _ down: Int) -> Channel {
            Self.channel(parts.map { $0[index] }, width: width, height: height, across: across, down: down)
        }
        let light = channel(0, max(3, across), max(3, down))
        let (yellow, red) = (channel(1, 3, 3), channel(2, 3, 3))
        let alpha = hasAlpha ? channel(3, 5, 5) : Channel()
        let isWide = width > height
        var header = Self.rounded(63 * light.average) | Self.rounded(31.5 + 31.5 * yellow.average) << 6
        header |= Self.rounded(31.5 + 31.5 * red.average) << 12 | Self.rounded(31 * light.scale) << 18
        header |= (hasAlpha ? 1 : 0) << 23
        var second = (isWide ? down : across) | Self.rounded(63 * yellow.scale) << 3
        second |= Self.rounded(63 * red.scale) << 9 | (isWide ? 1 : 0) << 15
        var bytes = [header & 255, header >> 8 & 255, header >> 16, second & 255, second >> 8].map { UInt8($0) }
        if hasAlpha { bytes.append(UInt8(Self.rounded(15 * alpha.average) | Self.rounded(15 * alpha.scale) << 4)) }
        let waves = (light.waves + yellow.waves + red.waves + alpha.waves).map { UInt8(Self.rounded(15 * $0)) }
        for index in stride(from: 0, to: waves.count, by: 2) {
            bytes.append(waves[index] | (index + 1 < waves.count ? waves[index + 1] << 4 : 0))
        }
        self.bytes = bytes
    }

    private static func rounded(_ value: Double) -> Int { Int(max(0, value).rounded()) }

    private static func channel(_ values: [Double], width: Int, height: Int, across: Int, down: Int) -> Channel {
        var channel = Channel()
        for (i, j) in places(across, down) {
            let row = (0..<width).map { cos(.pi / Double(width) * Double(i) * (Double($0) + 0.5)) }
            var sum: Double = 0
            for y in 0..<height {
                var line: Double = 0
                for x in 0..<width { line += values[y * width + x] * row[x] }
                sum += line * cos(.pi / Double(height) * Double(j) * (Double(y) + 0.5))
            }
            sum /= Double(width * height)
            if i + j == 0 {
                channel.average = sum
            } else {
                channel.waves.append(sum)
                channel.scale = max(channel.scale, abs(sum))
            }
        }
        // Map to 0 … 1, with 0.5 for an amplitude of zero.
        if channel.scale > 0 { channel.waves = channel.waves.map { 0.5 + 0.5 / channel.scale * $0 } }
        return channel
    }

    private struct Header {
        let first: Int
        let second: Int
        let hasAlpha: Bool
        /// The number of luminance components along each axis, which encode the aspect ratio.
        let waves: (x: Int, y: Int)

        init(_ bytes: [UInt8]) {
            first = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
            second = Int(bytes[3]) | Int(bytes[4]) << 8
            hasAlpha = first >> 23 != 0
            let (long, short) = (hasAlpha ? 5 : 7, second & 7)
            waves = second >> 15 != 0 ? (long, short) : (short, long)
        }

        var start: Int { hasAlpha ? 6 : 5 }
        var light: (x: Int, y: Int) { (max(3, waves.x), max(3, waves.y)) }
        /// The number of components, without the averages, which the header contains.
        var waveCount: Int {
            let channels = [light, (3, 3), (3, 3)] + (hasAlpha ? [(5, 5)] : [])
            return channels.reduce(0) { $0 + ThumbHash.places($1.0, $1.1).count - 1 }
        }
        var averages: (light: Float, yellow: Float, red: Float) {
            (Float(first & 63) / 63, Float(first >> 6 & 63) / 31.5 - 1, Float(first >> 12 & 63) / 31.5 - 1)
        }
    }

    /// Returns the components of a channel with these counts per axis, in encoding order. The first is the average.
    private static func places(_ across: Int, _ down: Int) -> [(i: Int, j: Int)] {
        (0..<down).flatMap { j in (0..<across).filter { $0 * down < across * (down - j) }.map { (i: $0, j: j) } }
    }

    /// The approximate ratio of width to height, 1/7 … 7. Use it to reserve space for the image.
    public var aspectRatio: Double {
        let waves = Header(bytes).waves
        return Double(waves.x) / Double(waves.y)
    }

    /// The average colour, weighted by alpha, with the average alpha.
    public var averageColor: PixelColor {
        let header = Header(bytes)
        let (light, yellow, red) = header.averages
        let color = Self.color(light: light, yellow: yellow, red: red)
        return PixelColor(
            red: color[0], green: color[1], blue: color[2], alpha: header.hasAlpha ? (bytes[5] & 15) * 17 : 255)
    }

    private static func color(light: Float, yellow: Float, red: Float) -> SIMD4<UInt8> {
        let blue = light - 2 / 3 * yellow
        let first = (3 * light - blue + red) / 2
        return PixelFloats.rounded(SIMD4(first, first - red, blue, 1) * 255)
    }

    /// Returns the decoded image, its longer side `longestSide` pixels; in sRGB, with straight alpha if it has any.
    ///
    /// The other side follows from ``aspectRatio``. The time is linear in the pixels, so request few and enlarge them
    /// for display.
    ///
    /// - Parameter longestSide: the longer side in pixels.
    /// - Precondition: `longestSide` is from 1 to 1,000.
    public func pixels(longestSide: Int = 32) -> PixelBuffer {
        precondition(
            (1...1000).contains(longestSide), "invalid longest side: \(longestSide) pixels; it must be 1 to 1000")
        let header = Header(bytes)
        let ratio = Float(aspectRatio)
        let width = max(1, Int((ratio > 1 ? Float(longestSide) : Float(longestSide) * ratio).rounded()))
        let height = max(1, Int((ratio > 1 ? Float(longestSide) / ratio : Float(longestSide)).rounded()))
        var place = 2 * header.start
        func waves(_ across: Int, _ down: Int, scale: Float) -> [(i: Int, j: Int, value: Float)] {
            Self.places(across, down).dropFirst().map { i, j in
                let nibble = bytes[place / 2] >> (place % 2 * 4) & 15
                place += 1
                return (i, j, (Float(nibble) / 7.5 - 1) * scale)
            }
        }
        // Coarse quantisation makes colours pale; a quarter more chroma compensates for it.
        let light = waves(header.light.x, header.light.y, scale: Float(header.first >> 18 & 31) / 31)
        let yellow = waves(3, 3, scale: Float(header.second >> 3 & 63) / 63 * 1.25)
        let red = waves(3, 3, scale: Float(header.second >> 9 & 63) / 63 * 1.25)
        let alpha = header.hasAlpha ? waves(5, 5, scale: Float(bytes[5] >> 4) / 15) : []
        let averages = header.averages
        let opacity = header.hasAlpha ? Float(bytes[5] & 15) / 15 : 1
        let columns = (0..<width).map { x in
            (0..<7).map { cos(.pi / Float(width) * (Float(x) + 0.5) * Float($0)) }
        }
        let format: PixelBuffer.Format = header.hasAlpha ? .rgba : .rgbx
        return unsafe PixelBuffer(width: width, height: height, format: format) { memory in
            for y in 0..<height {
                let down = (0..<7).map { cos(.pi / Float(height) * (Float(y) + 0.5) * Float($0)) }
                for x in 0..<width {
                    let across = columns[x]
                    func sum(_ average: Float, _ waves: [(i: Int, j: Int, value: Float)]) -> Float {
                        waves.reduce(average) { $0 + $1.value * across[$1.i] * down[$1.j] * 2 }
                    }
                    var pixel = Self.color(
                        light: sum(averages.light, light), yellow: sum(averages.yellow, yellow),
                        red: sum(averages.red, red))
                    if header.hasAlpha {
                        pixel[3] = PixelFloats.rounded(SIMD4(repeating: sum(opacity, alpha) * 255))[0]
                    }
                    unsafe memory.storeBytes(of: pixel, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
    }

    private static func damaged(_ what: String) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "Invalid ThumbHash: \(what). Check its source.")
    }
}
