import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("SVG rendering", .timeLimit(.minutes(10)))
struct SVGTests {
    private static let name = "xmlns='http://www.w3.org/2000/svg'"

    private func svg(_ attributes: String, _ content: String = "<rect width='20' height='10' fill='red'/>") -> [UInt8] {
        Array("<svg \(Self.name) \(attributes)>\(content)</svg>".utf8)
    }

    @Test(
        "The intrinsic size matches that of browsers",
        arguments: [
            ("width='40' height='30'", 40, 30), ("", 300, 150), ("viewBox='0 0 50 25'", 50, 25),
            ("width='100%' height='100%' viewBox='0,0,50 25'", 50, 25), ("width='100' viewBox='0 0 50 25'", 100, 50),
            ("height='100' viewBox='0 0 50 25'", 200, 100), ("width='1in' height='2.54cm'", 96, 96),
            ("width='72pt' height='6pc'", 96, 96), ("width='25.4mm' height='101.6Q'", 96, 96),
            ("width='2em' height='3ex'", 32, 24), ("width='100%' height='100%'", 300, 150), ("width='100'", 100, 150),
            ("width='40.5' height='30.4' viewBox='0 0 3 3'", 41, 30), ("width='0.4' height='0.3'", 1, 1),
            ("style='width:40px;height:30px' width='7' height='9'", 40, 30), ("width='-5' height='10'", 300, 10),
            ("width='5foo' height='10'", 300, 10), ("width='auto' height='auto' viewBox='0 0 50 25'", 50, 25),
            ("viewBox='0 0 0 25'", 300, 150), ("width=' 4e1px ' height='+30.5px'", 40, 31),
            ("width = \"40\"\n\theight='30' data-width='9'", 40, 30),
        ])
    func size(_ attributes: String, _ width: Int, _ height: Int) throws {
        let file = svg(attributes)
        let info = try info(file)
        #expect(info.width == width && info.height == height)
        #expect(info.hasAlpha && info.format == .svg)
        let pixels = try decode(file)
        #expect(pixels.width == width && pixels.height == height)
        try validate(file)
    }

    @Test("A drawing is rendered at the requested size, not enlarged from its own")
    func scaled() throws {
        let file = svg("width='4' height='4'", "<rect x='1' y='1' width='2' height='2' fill='#0000ff'/>")
        let pixels = try decode(file, DecodeOptions(resize: Resize(width: 40, height: 40, enlarges: true)))
        // Rendered edges are sharp; enlarged pixels would be soft.
        #expect(
            pixels.psnr { x, y in
                (10..<30).contains(x) && (10..<30).contains(y) ? SIMD4(0, 0, 255, 255) : .zero
            } == 100)
    }

    @Test("Fill stretches a drawing, cover crops it and contain keeps its aspect ratio")
    func fits() throws {
        let file = svg("viewBox='0 0 2 1'", "<rect width='1' height='1' fill='red'/>")
        let box = Resize(width: 30, height: 30, fit: .fill, enlarges: true)
        let filled = try decode(file, DecodeOptions(resize: box))
        #expect(filled.psnr { x, _ in x < 15 ? SIMD4(255, 0, 0, 255) : .zero } == 100)
        let cover = Resize(width: 30, height: 30, fit: .cover, enlarges: true)
        let covered = try decode(file, DecodeOptions(resize: cover))
        #expect(covered.width == 30 && covered.psnr { x, _ in x < 15 ? SIMD4(255, 0, 0, 255) : .zero } == 100)
        let contained = try decode(file, DecodeOptions(resize: Resize(width: 30, height: 30, enlarges: true)))
        #expect(contained.width == 30 && contained.height == 15)
    }

    @Test("A prolog before the root element affects neither size nor rendering")
    func prolog() throws {
        let body = String(decoding: svg("width='40' height='30'"), as: UTF8.self)
        for front in [
            "\u{FEFF}", "<?xml version='1.0'?>\n", "<!-- <svg width='1'> -->\n",
            "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'>\n",
            "<!DOCTYPE svg [<!ENTITY a '>]'> <!-- ]> --> <?p ]>?> ]>",
        ] {
            let file = Array((front + body).utf8)
            #expect(try info(file).width == 40, "\(front)")
            #expect(try decode(file)[5, 5] == SIMD4(255, 0, 0, 255), "\(front)")
        }
    }

    @Test("A drawing with zero size or too many pixels is rejected")
    func refused() throws {
        #expect(code { _ = try decode(svg("width='0' height='10'")) } == .damaged)
        #expect(code { _ = try decode(svg("width='100000' height='100000'")) } == .tooManyPixels)
        #expect(code { _ = try decode(svg("width='1e300' height='1e300'")) } == .tooManyPixels)
        #expect(code { _ = try decode(svg("width='40000' height='1'")) } == .tooManyPixels)
        // A strip is rendered whole, even if most of it is cropped away.
        let strip = DecodeOptions(resize: Resize(width: 1000, height: 1000, fit: .cover, enlarges: true))
        #expect(code { _ = try decode(svg("width='1' height='1000'"), strip) } == .tooManyPixels)
        var options = DecodeOptions()
        options.maximumPixels = 40 * 30 - 1
        #expect(code { _ = try decode(svg("width='40' height='30'"), options) } == .tooManyPixels)
    }
}
