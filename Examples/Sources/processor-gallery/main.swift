// What each processor makes of a picture, as a page to look at:
//
//     swift run --package-path Examples processor-gallery OUT [URL]
//
// Without arguments a picture is painted, nothing is written, and what is made is told.

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
    [.roundCorners(radius: 24, border: Border(width: 6, color: .white))],
    [.circle(border: Border(width: 4, color: PixelColor("#e05030")!))],
    [.border(width: 8, color: PixelColor("#20304080")!)],
    [.circle(), .flatten(on: PixelColor("#ffe8c0")!)],
    [.custom("negative", negative)],
    [.resize(width: 120), .blur(radius: 3), .adjust(saturation: 0.3), .roundCorners(radius: 12)],
]

/// A processor of one's own: all colours turned round.
@Sendable func negative(_ pixels: PixelBuffer) -> PixelBuffer {
    let rows = (0..<pixels.height).map { pixels.bytes.array[($0 * pixels.bytesPerRow)...].prefix(pixels.width * 4) }
    let bytes = rows.joined().enumerated().map { $0 % 4 == 3 ? $1 : 255 - $1 }
    return PixelBuffer(
        width: pixels.width, height: pixels.height, bytesPerRow: pixels.width * 4, format: pixels.format,
        bytes: Bytes(bytes))
}

/// A sun over hills.
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
    return PixelBuffer(width: width, height: height, bytesPerRow: width * 4, format: .rgbx, bytes: Bytes(bytes))
}

let arguments = CommandLine.arguments.dropFirst()
let pipeline = try ImagePipeline(configuration: .init())
var request = ImageRequest(source: ImageSource("painted") { .picture(painted()) })
if let url = arguments.dropFirst().first { request = ImageRequest(url, resize: Resize(width: 320, height: 240)) }

var page = "<!DOCTYPE html><meta charset=\"utf-8\"><title>Processors</title>\n"
for processors in [[]] + steps {
    request.processors = processors
    let image = try await pipeline.image(for: request)
    let name = processors.isEmpty ? "as it is" : processors.map(\.identity).joined(separator: ", ")
    guard let folder = arguments.first.map({ URL(fileURLWithPath: $0) }) else {
        print("\(name): \(image.width) × \(image.height)\(image.pixels.format.alpha == .opaque ? "" : ", with alpha")")
        continue
    }
    let file = "\(page.split(separator: "\n").count - 1).png"
    let bytes = try ImagePipeline.Configuration().codecs.encode(image.pixels, options: EncodeOptions(format: .png))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(bytes.array).write(to: folder.appendingPathComponent(file))
    page += "<figure><img src=\"\(file)\"><figcaption><code>\(name)</code></figcaption></figure>\n"
    try Data(page.utf8).write(to: folder.appendingPathComponent("index.html"))
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
