import Glibc

/// A placeholder of about thirty characters: the average colour and a few cosine components ("waves") of an image
/// (Wolt: BlurHash, `Algorithm.md`).
///
/// It encodes neither alpha nor the aspect ratio. Any thread may encode and decode.
///
/// ```swift
/// let placeholder = try BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj").pixels(width: 32, height: 24)
/// ```
public struct BlurHash: Sendable, Hashable, CustomStringConvertible {
    /// The encoded characters, as servers send them.
    public let text: String
    /// The number of components along a row, 1 … 9.
    public let horizontal: Int
    /// The number of components along a column, 1 … 9.
    public let vertical: Int
    /// The components in linear red, green and blue, row by row; the first is the average.
    private let waves: [SIMD3<Float>]

    public var description: String { text }

    /// Parses a BlurHash.
    ///
    /// - Parameter text: 6 to 166 characters, of which the first determines the number.
    /// - Throws: ``LoadError/Code/damaged`` if a character is invalid, or if the length contradicts the first
    ///   character.
    public init(_ text: String) throws(LoadError) {
        var digits: [Int] = []
        for byte in text.utf8 {
            guard let digit = Self.values[byte] else {
                throw Self.damaged("it has an invalid character")
            }
            digits.append(digit)
        }
        guard digits.count >= 6 else {
            throw Self.damaged("it has \(digits.count) characters, fewer than the minimum of 6")
        }
        horizontal = digits[0] % 9 + 1
        vertical = digits[0] / 9 + 1
        let expected = 4 + 2 * horizontal * vertical
        guard vertical <= 9, digits.count == expected else {
            throw Self.damaged("it has \(digits.count) characters; its first requires \(expected)")
        }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 83 + $1 } }
        let average = number(2..<6)
        guard average < 1 << 24 else { throw Self.damaged("its average colour is invalid") }
        let largest = Float(digits[1] + 1) / 166
        var waves = [
            SIMD3(
                LinearLight.of(UInt8(average >> 16)), LinearLight.of(UInt8(average >> 8 & 255)),
                LinearLight.of(UInt8(average & 255)))
        ]
        for start in stride(from: 6, to: expected, by: 2) {
            let value = number(start..<start + 2)
            func part(_ digit: Int) -> Float {
                let share = Float(digit - 9) / 9
                return share * abs(share) * largest
            }
            guard value < 19 * 19 * 19 else { throw Self.damaged("one of its components is too high") }
            waves.append(SIMD3(part(value / 361), part(value / 19 % 19), part(value % 19)))
        }
        self.waves = waves
        self.text = text
    }

    /// Creates the BlurHash of an image, composited over white.
    ///
    /// An image with a side above 100 pixels is downscaled first. The time is linear in pixels and components.
    ///
    /// - Parameters:
    ///   - pixels: the image.
    ///   - horizontal: the number of components along a row, clamped to 1 … 9.
    ///   - vertical: the number of components along a column, clamped likewise.
    public init(_ pixels: PixelBuffer, horizontal: Int = 4, vertical: Int = 3) {
        let small = pixels.forPlaceholder.flattened(onto: 255, 255, 255)
        let horizontal = max(1, min(9, horizontal))
        let vertical = max(1, min(9, vertical))
        let light = small.linearLight
        let (width, height) = (small.width, small.height)
        let across = Self.cosines(horizontal, over: width)
        let down = Self.cosines(vertical, over: height)
        var waves: [SIMD3<Float>] = []
        for j in 0..<vertical {
            for i in 0..<horizontal {
                var sum = SIMD3<Float>.zero
                for y in 0..<height {
                    var line = SIMD3<Float>.zero
                    for x in 0..<width { line += light[y * width + x] * across[i][x] }
                    sum += line * down[j][y]
                }
                waves.append(sum * ((i + j == 0 ? 1 : 2) / Float(width * height)))
            }
        }
        let written = Self.written(waves, horizontal: horizontal, vertical: vertical)
        // Parse the text, so that a value equals the one read from its text.
        guard let read = try? BlurHash(written) else {
            preconditionFailure("the encoded BlurHash \(written) cannot be parsed")
        }
        self = read
    }

    /// Returns the decoded image, opaque, in sRGB. The time is linear in pixels and components, so request few pixels
    /// and enlarge them for display.
    ///
    /// - Parameters:
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - punch: the contrast; 1 for that of the original, more to increase it.
    /// - Precondition: both sides are from 1 to 1,000.
    public func pixels(width: Int, height: Int, punch: Float = 1) -> PixelBuffer {
        precondition(
            (1...1000).contains(width) && (1...1000).contains(height),
            "invalid size: \(width) × \(height) pixels; a side must be 1 to 1000")
        let across = Self.cosines(horizontal, over: width)
        let down = Self.cosines(vertical, over: height)
        return unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    var light = waves[0]
                    for wave in waves.indices.dropFirst() {
                        light += waves[wave] * (across[wave % horizontal][x] * down[wave / horizontal][y] * punch)
                    }
                    let pixel = SIMD4(
                        LinearLight.byte(light[0]), LinearLight.byte(light[1]), LinearLight.byte(light[2]), 255)
                    unsafe memory.storeBytes(of: pixel, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
    }

    /// The average colour in linear light, opaque.
    public var averageColor: PixelColor {
        PixelColor(
            red: LinearLight.byte(waves[0][0]), green: LinearLight.byte(waves[0][1]),
            blue: LinearLight.byte(waves[0][2]))
    }

    /// Returns the values of each component at each pixel of a side.
    private static func cosines(_ count: Int, over size: Int) -> [[Float]] {
        (0..<count).map { wave in (0..<size).map { cos(.pi * Float(wave * $0) / Float(size)) } }
    }

    private static func written(_ waves: [SIMD3<Float>], horizontal: Int, vertical: Int) -> String {
        var bytes: [UInt8] = []
        func write(_ value: Int, _ count: Int) {
            var rest = value
            var digits: [UInt8] = []
            for _ in 0..<count {
                digits.append(alphabet[rest % 83])
                rest /= 83
            }
            bytes += digits.reversed()
        }
        write(horizontal - 1 + (vertical - 1) * 9, 1)
        let highest = waves.dropFirst().map { max(abs($0[0]), abs($0[1]), abs($0[2])) }.max()
        let step = highest.map { max(0, min(82, Int(($0 * 166 - 0.5).rounded(.down)))) } ?? 0
        write(step, 1)
        let largest = highest == nil ? 1 : Float(step + 1) / 166
        let average = (0..<3).reduce(0) { $0 << 8 | Int(LinearLight.byte(waves[0][$1])) }
        write(average, 4)
        for wave in waves.dropFirst() {
            let digits = (0..<3).map { channel -> Int in
                let share = wave[channel] / largest
                let root = share < 0 ? -(-share).squareRoot() : share.squareRoot()
                return max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
            }
            write(digits.reduce(0) { $0 * 19 + $1 }, 2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func damaged(_ what: String) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "Invalid BlurHash: \(what). Check its source.")
    }

    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)
    private static let values = Dictionary(uniqueKeysWithValues: alphabet.enumerated().map { ($1, $0) })
}

/// Converts bytes of sRGB to linear light, 0 … 1, and back (IEC 61966-2-1).
enum LinearLight {
    private static let table: [Float] = (0..<256).map { byte in
        let value = Float(byte) / 255
        return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    static func of(_ byte: UInt8) -> Float { table[Int(byte)] }

    static func byte(_ light: Float) -> UInt8 {
        let light = max(0, min(1, light))
        let value = light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
        return UInt8(value * 255 + 0.5)
    }
}

extension PixelBuffer {
    /// The image with at most 100 pixels per side. More do not improve a placeholder.
    var forPlaceholder: PixelBuffer {
        resized(to: Resize(width: 100, height: 100).plan(sourceWidth: width, sourceHeight: height))
            .converted(to: Format(order: .rgba, alpha: .straight))
    }

    /// The linear light of each pixel, row by row, regardless of alpha.
    fileprivate var linearLight: [SIMD3<Float>] {
        unsafe withUnsafeBytes { memory in
            (0..<width * height).map { index in
                let pixel = unsafe memory.loadUnaligned(
                    fromByteOffset: index / width * bytesPerRow + index % width * 4, as: SIMD4<UInt8>.self)
                return SIMD3(LinearLight.of(pixel[0]), LinearLight.of(pixel[1]), LinearLight.of(pixel[2]))
            }
        }
    }
}
