import Foundation
import InflightImages
import Testing

@Suite("Crops, rotation, corners and borders", .timeLimit(.minutes(10)))
struct GeometryTests {
    /// Each pixel encodes its position.
    private let places = Painted(40, 20) { x, y in (x, y, 99, 255) }

    @Test(
        "A crop keeps the requested rectangle within the image",
        arguments: [
            (.crop(x: 3, y: 4, width: 5, height: 6), 5, 6, 3, 4),
            (.crop(x: 38, y: 0, width: 9, height: 9), 2, 9, 38, 0),
            (.crop(x: -2, y: -3, width: 6, height: 6), 4, 3, 0, 0), (.crop(width: 10, height: 10), 10, 10, 15, 5),
            (.crop(width: 10, height: 10, gravity: .top), 10, 10, 15, 0),
            (.crop(width: 10, height: 10, gravity: .bottomRight), 10, 10, 30, 10),
            (.crop(width: 10, height: 10, gravity: .left), 10, 10, 0, 5), (.crop(width: 99, height: 5), 40, 5, 0, 7),
        ] as [(ImageProcessor, Int, Int, Int, Int)])
    func crop(processor: ImageProcessor, width: Int, height: Int, x: Int, y: Int) throws {
        let pixels = try places.pixels().processed(by: [processor])
        #expect(pixels.width == width && pixels.height == height)
        #expect(pixels[0, 0] == [x, y, 99, 255])
    }

    @Test(
        "A cover resize crops at the side that gravity names",
        arguments: [
            (.center, 12), (.top, 12), (.left, 0), (.right, 25), (.topLeft, 0), (.bottomRight, 25),
        ] as [(Resize.Gravity, Int)])
    func cover(gravity: Resize.Gravity, cropX: Int) {
        let plan = Resize(width: 50, height: 50, fit: .cover, gravity: gravity)
            .plan(sourceWidth: 300, sourceHeight: 200)
        #expect(plan == .init(scaledWidth: 75, scaledHeight: 50, cropX: cropX, width: 50, height: 50))
    }

    @Test("The exact fit enlarges, the fill fit does not, and points scale to pixels")
    func exact() throws {
        let pixels = places.pixels()
        #expect(try pixels.processed(by: [.resize(width: 90, height: 7, fit: .exact)]).width == 90)
        #expect(try pixels.processed(by: [.resize(width: 90, height: 7, fit: .fill)]).width == 40)
        #expect(Resize.points(width: 100, height: 33.4, scale: 1.5) == Resize(width: 150, height: 50))
        #expect(Resize.points(width: -.infinity, height: nil, scale: 2).width == 0)
    }

    @Test(
        "pad puts the image in the middle of the box, on its colour, in every pixel format",
        arguments: [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA])
    func pad(format: PixelBuffer.Format) throws {
        let orange = PixelColor(red: 255, green: 128, blue: 0)
        let resize = Resize(width: 45, height: 45, fit: .pad, background: orange)
        let padded = try places.pixels(format).processed(by: [.resize(resize)])
        #expect(padded.width == 45 && padded.height == 45 && padded.format == format)
        // 5 columns and 25 rows are free: 2 of them at the left, 12 above.
        #expect(padded[2, 12] == [0, 0, 99, 255] && padded[41, 31] == [39, 19, 99, 255])
        for (x, y) in [(0, 0), (1, 20), (42, 20), (20, 11), (20, 32), (44, 44)] {
            #expect(padded[x, y] == [255, 128, 0, 255], "\(x), \(y)")
        }
    }

    @Test("A transparent padding makes an opaque image transparent there")
    func clearPad() throws {
        let resize = Resize(width: 20, height: 20, fit: .pad, background: .clear)
        let padded = try places.pixels(.rgbx).processed(by: [.resize(resize)])
        #expect(padded.width == 20 && padded.height == 20)
        #expect(padded[10, 0] == [0, 0, 0, 0] && padded[10, 19][3] == 0 && padded[10, 10][3] == 255)
    }

    @Test("An image that is not larger than the box is neither cropped nor padded, if it is to be kept")
    func keepsSmaller() throws {
        func size(_ side: Int, _ fit: Resize.Fit) throws -> [Int] {
            let pixels = try places.pixels().processed(
                by: [.resize(Resize(width: side, height: side, fit: fit, keepsSmaller: true))])
            return [pixels.width, pixels.height]
        }
        #expect(try size(20, .cover) == [40, 20] && size(19, .cover) == [19, 19])
        #expect(try size(40, .pad) == [40, 20] && size(39, .pad) == [39, 39])
        #expect(try size(50, .exact) == [40, 20] && size(30, .exact) == [30, 30])
    }

    @Test("A padding above the limit of pixels is refused")
    func largePad() {
        let error = #expect(throws: LoadError.self) {
            try places.pixels().processed(by: [.resize(width: 20_000, height: 20_000, fit: .pad)])
        }
        #expect(error?.code == .tooManyPixels)
    }

    @Test("Quarter turns are clockwise and lossless, and flips mirror the image")
    func quarters() throws {
        let pixels = places.pixels()
        let once = try pixels.processed(by: [.rotate(degrees: 90)])
        #expect(once.width == 20 && once.height == 40)
        // The bottom-left pixel moves to the top left.
        #expect(once[0, 0] == [0, 19, 99, 255] && once[19, 0] == [0, 0, 99, 255])
        #expect(try pixels.processed(by: [.rotate(degrees: -270)])[0, 0] == [0, 19, 99, 255])
        #expect(try pixels.processed(by: [.rotate(degrees: 180)])[0, 0] == [39, 19, 99, 255])
        #expect(try pixels.processed(by: [.rotate(degrees: 720)])[0, 0] == [0, 0, 99, 255])
        #expect(try pixels.processed(by: [.flip(.horizontal)])[0, 0] == [39, 0, 99, 255])
        #expect(try pixels.processed(by: [.flip(.vertical)])[0, 0] == [0, 19, 99, 255])
    }

    @Test("Rotation by any angle yields the expected size and pixel positions")
    func angles() throws {
        // Smooth, so that its value at any position is known.
        @Sendable func value(_ x: Double, _ y: Double) -> Double { 120 + 60 * sin(x / 9) + 50 * cos(y / 7) }
        let painted = Painted(81, 61) { x, y in
            let light = Int(value(Double(x), Double(y)).rounded())
            return (light, light, light, 255)
        }
        for format in [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA] {
            let turned = try painted.pixels(format).processed(by: [.rotate(degrees: 30)])
            #expect(turned.width == 101 && turned.height == 94)
            #expect(turned[0, 0] == [0, 0, 0, 0] && turned[100, 93] == [0, 0, 0, 0])
            #expect(turned[50, 46][3] == 255)
            var (sum, count) = (0.0, 0.0)
            for y in 0..<94 {
                for x in 0..<101 {
                    let (right, down) = (Double(x) - 50, Double(y) - 46.5)
                    let sourceX = right * cos(.pi / 6) + down * sin(.pi / 6) + 40
                    let sourceY = down * cos(.pi / 6) - right * sin(.pi / 6) + 30
                    guard sourceX > 2, sourceX < 78, sourceY > 2, sourceY < 58 else { continue }
                    let off = Double(turned[x, y][0]) - value(sourceX, sourceY)
                    sum += off * off
                    count += 1
                }
            }
            #expect((sum / count).squareRoot() < 0.6)
        }
    }

    @Test("Rotation back and forth restores the image except at its edges")
    func back() throws {
        let pixels = Painted(60, 60) { x, y in (100 + x, 200 - y, 50 + x + y, 255) }.pixels()
        let back = try pixels.processed(by: [.rotate(degrees: 17), .rotate(degrees: -17)])
        let (left, top) = ((back.width - 60) / 2, (back.height - 60) / 2)
        for y in 5..<55 {
            for x in 5..<55 {
                #expect(zip(back[left + x, top + y], pixels[x, y]).allSatisfy { abs($0 - $1) <= 2 })
            }
        }
    }

    @Test("Round corners cover the expected area")
    func corners() throws {
        let painted = Painted(60, 40) { _, _ in (10, 200, 30, 255) }
        let radius = 12.0
        // The rectangle without the four corners outside the quarter circles.
        let expected = 60.0 * 40 - (4 - .pi) * radius * radius
        for format in [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA] {
            let round = try painted.pixels(format).processed(by: [.roundCorners(radius: radius)])
            var covered = 0.0
            for y in 0..<40 { for x in 0..<60 { covered += Double(round[x, y][3]) / 255 } }
            #expect(abs(covered - expected) < 2, "\(covered), not \(expected)")
            #expect(round[0, 0] == [0, 0, 0, 0] && round[59, 39] == [0, 0, 0, 0])
            #expect(round[30, 0] == [10, 200, 30, 255] && round[0, 20] == [10, 200, 30, 255])
            for y in 0..<40 {
                for x in 0..<60 { #expect(round[x, y] == round[59 - x, y] && round[x, y] == round[x, 39 - y]) }
            }
        }
    }

    @Test("A circle crop is square and covers the area of its circle")
    func circle() throws {
        let round = try Painted(61, 40) { x, _ in (x, 0, 0, 255) }.pixels().processed(by: [.circle()])
        #expect(round.width == 40 && round.height == 40)
        var covered = 0.0
        for y in 0..<40 { for x in 0..<40 { covered += Double(round[x, y][3]) / 255 } }
        #expect(abs(covered - .pi * 400) < 2)
        #expect(round[20, 20] == [30, 0, 0, 255])
    }

    @Test("A border has its width and colour and leaves the inside unchanged")
    func border() throws {
        let pixels = Painted(30, 20) { _, _ in (0, 0, 200, 255) }.pixels()
        let red = PixelColor("#ff0000")!
        let framed = try pixels.processed(by: [.border(width: 3, color: red)])
        #expect(framed.format.alpha == .opaque)
        for y in 0..<20 {
            for x in 0..<30 {
                let isLine = x < 3 || y < 3 || x >= 27 || y >= 17
                #expect(framed[x, y] == (isLine ? [255, 0, 0, 255] : [0, 0, 200, 255]), "\(x), \(y)")
            }
        }
        // A border of half a pixel, and a translucent border.
        let fine = try pixels.processed(by: [.border(width: 0.5, color: red)])
        #expect(abs(fine[10, 0][0] - 128) <= 1 && abs(fine[10, 0][2] - 100) <= 1 && fine[10, 1] == [0, 0, 200, 255])
        let clear = try pixels.processed(by: [.border(width: 2, color: PixelColor("#ff000080")!)])
        #expect(abs(clear[10, 0][0] - 128) <= 1 && abs(clear[10, 0][2] - 100) <= 1 && clear[10, 0][3] == 255)
        // A border wider than the image.
        #expect(try pixels.processed(by: [.border(width: 500, color: red)])[15, 10] == [255, 0, 0, 255])
    }

    @Test("A round border follows the whole edge with nothing outside")
    func roundBorder() throws {
        let pixels = Painted(60, 60) { _, _ in (0, 0, 200, 255) }.pixels()
        let round = try pixels.processed(by: [
            .circle(border: ImageProcessor.Border(width: 4, color: PixelColor("#ff0000")!))
        ])
        for y in 0..<60 {
            for x in 0..<60 {
                let distance = hypot(Double(x) - 29.5, Double(y) - 29.5)
                if distance < 25 { #expect(round[x, y] == [0, 0, 200, 255]) }
                if distance > 27, distance < 29 { #expect(round[x, y] == [255, 0, 0, 255]) }
                if distance > 31 { #expect(round[x, y] == [0, 0, 0, 0]) }
                // At the outer edge only the border is visible.
                if distance > 29, round[x, y][3] > 0 { #expect(round[x, y][2] == 0) }
            }
        }
    }
}
