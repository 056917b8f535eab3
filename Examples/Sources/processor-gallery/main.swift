// Shows the output of each processor on one sheet:
//
//     swift run --package-path Examples processor-gallery FILE.svg [URL]
//
// Without a URL it uses a painted image. Without a file it writes nothing, and only prints the results.

import Foundation
import Inflight

let steps: [[ImageProcessor]] = [
    [.resize(width: 160)],
    [.resize(width: 120, height: 120, fit: .cover, gravity: .interest)],
    [.crop(x: 40, y: 30, width: 160, height: 120)],
    [.crop(width: 120, height: 120, gravity: .bottomRight)],
    [.rotate(degrees: 90)],
    [.rotate(degrees: -12)],
    [.flip(.horizontal)],
    [.blur(radius: 4)],
    [.sharpen(amount: 1, radius: 2)],
    [.grey],
    [.adjust(brightness: 1.2, contrast: 1.1, saturation: 1.6)],
    [.roundCorners(radius: 24)],
    [.roundCorners(radius: 24, border: ImageProcessor.Border(width: 6, color: .white))],
    [.circle(border: ImageProcessor.Border(width: 4, color: PixelColor("#e05030")!))],
    [.border(width: 8, color: PixelColor("#20304080")!)],
    [.circle(), .flatten(on: PixelColor("#ffe8c0")!)],
    [.custom("negative", negative)],
    [.resize(width: 120), .blur(radius: 3), .adjust(saturation: 0.3), .roundCorners(radius: 12)],
]

/// A custom processor that inverts all colours.
@Sendable func negative(_ pixels: PixelBuffer) -> PixelBuffer {
    let rows = (0..<pixels.height).map { pixels.bytes.array[($0 * pixels.bytesPerRow)...].prefix(pixels.width * 4) }
    let bytes = rows.joined().enumerated().map { $0 % 4 == 3 ? $1 : 255 - $1 }
    return PixelBuffer(
        width: pixels.width, height: pixels.height, format: pixels.format,
        bytes: Bytes(bytes))
}

/// Returns an image of a sun over hills.
func painted() -> PixelBuffer {
    let (width, height) = (320, 240)
    var bytes: [UInt8] = []
    for y in 0..<height {
        for x in 0..<width {
            let hill = 150 + 25 * sin(Double(x) / 40) + 8 * sin(Double(x) / 11)
            let isSun = hypot(Double(x) - 230, Double(y) - 70) < 32
            if Double(y) > hill {
                bytes += [60, UInt8(90 + (y * 7 + x * 3) % 40), 50, 255]
            } else {
                bytes += isSun ? [255, 220, 120, 255] : [UInt8(120 + y / 3), UInt8(150 + y / 4), 220, 255]
            }
        }
    }
    return PixelBuffer(width: width, height: height, format: .rgbx, bytes: Bytes(bytes))
}

let codecs = ImagePipeline.Configuration().codecs
let arguments = CommandLine.arguments.dropFirst()
let pipeline = try ImagePipeline(configuration: .init())
var request = ImageRequest(source: ImageRequest.Source("painted") { .image(painted()) })
if let url = arguments.dropFirst().first { request = ImageRequest(url, resize: Resize(width: 320, height: 240)) }

let columns = 4
var cells: [String] = []
for processors in [[]] + steps {
    request.processors = processors
    let image = try await pipeline.image(for: request)
    let name = processors.isEmpty ? "as it is" : processors.map(\.identity).joined(separator: ", ")
    print("\(name): \(image.width) × \(image.height)\(image.pixels.format.alpha == .opaque ? "" : ", with alpha")")
    guard !arguments.isEmpty else { continue }
    let shown = try image.pixels.processed(by: [.resize(width: 168, height: 126)])
    let format: ImageFormat = shown.format.alpha == .opaque ? .jpeg : .png
    let bytes = try codecs.encode(shown, options: EncodeOptions(format: format))
    cells.append(cell(number: cells.count, name: name, shown: shown, format: format, bytes: bytes))
}

/// Returns one image of the sheet as SVG, with its name below in lines that fit.
func cell(number: Int, name: String, shown: PixelBuffer, format: ImageFormat, bytes: Bytes) -> String {
    let (x, y) = (number % columns * 236 + 120, number / columns * 190 + 74)
    var lines = [""]
    for word in name.split(separator: " ") {
        if lines[lines.count - 1].count + word.count > 38 { lines.append("") }
        lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + word
    }
    let texts = lines.enumerated().map { line, text in
        "<text x=\"\(x)\" y=\"\(y + 80 + line * 12)\">\(text)</text>"
    }
    return """
        <image x="\(x - shown.width / 2)" y="\(y - shown.height / 2)" width="\(shown.width)" height="\(shown.height)" \
        href="data:image/\(format.rawValue);base64,\(Data(bytes.array).base64EncodedString())"/>
        \(texts.joined(separator: "\n"))
        """
}

if let file = arguments.first {
    let (width, height) = (columns * 236 + 4, (cells.count + columns - 1) / columns * 190 + 12)
    let sheet = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)">
        <rect width="100%" height="100%" fill="#f4f4f2"/>
        <g font-family="DejaVu Sans, Helvetica, sans-serif" font-size="9.5" text-anchor="middle" fill="#222">
        \(cells.joined(separator: "\n"))
        </g>
        </svg>

        """
    try Data(sheet.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
}

// Prints:
// as it is: 320 × 240
// resize(160x contain false): 160 × 120
// resize(120x120 cover false interest): 120 × 120
// crop(x: 40, y: 30, width: 160, height: 120): 160 × 120
// crop(width: 120, height: 120, gravity: bottom-right): 120 × 120
// rotate(degrees: 90.0): 240 × 320
// rotate(degrees: -12.0): 363 × 302, with alpha
// flip(horizontal): 320 × 240
// blur(radius: 4.0): 320 × 240
// sharpen(amount: 1.0, radius: 2.0): 320 × 240
// grey: 320 × 240
// adjust(brightness: 1.2, contrast: 1.1, saturation: 1.6): 320 × 240
// rounded(radius: 24.0): 320 × 240, with alpha
// rounded(radius: 24.0, border: 6.0 #ffffff): 320 × 240, with alpha
// circle(border: 4.0 #e05030): 240 × 240, with alpha
// rounded(radius: 0.0, border: 8.0 #20304080): 320 × 240
// circle(), flatten(on: #ffe8c0): 240 × 240
// custom negative: 320 × 240
// resize(120x contain false), blur(radius: 3.0), adjust(brightness: 1.0, contrast: 1.0, saturation: 0.3), rounded(radius: 12.0): 120 × 90, with alpha
