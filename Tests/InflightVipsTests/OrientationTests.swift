import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("libvips decoder: orientation", .timeLimit(.minutes(10)))
struct OrientationTests {
    @Test("Each AVIF orientation is applied once, also when resizing", arguments: AVIFFixtures.turned)
    func avif(_ orientation: ImageInfo.Orientation, _ bytes: [UInt8]) throws {
        try check(bytes, orientation, 36)
    }

    @Test("Each JPEG XL orientation is applied once, also when resizing", arguments: JPEGXLFixtures.turned)
    func jpegXL(_ orientation: ImageInfo.Orientation, _ bytes: [UInt8]) throws {
        try check(bytes, orientation, 99)
    }

    @Test("A HEIC orientation is applied once, also when resizing")
    func heic() throws { try check(HEICFixtures.turned6, .right, 34) }

    private func check(_ bytes: [UInt8], _ orientation: ImageInfo.Orientation, _ least: Double) throws {
        let info = try info(bytes)
        #expect(info.orientation == orientation)
        #expect(info.storedWidth == 16 && info.storedHeight == 12)
        #expect(info.width == (orientation.swapsAxes ? 12 : 16))
        let pixels = try decode(bytes)
        #expect(pixels.width == info.width && pixels.height == info.height)
        let psnr = pixels.psnr {
            let (x, y) = Scene.stored(orientation, $0, $1)
            return Scene.color(x, y)
        }
        #expect(psnr > least)
        let resize = Resize(width: 7, height: 3, fit: .cover)
        let small = try decode(bytes, DecodeOptions(resize: resize))
        let expected = pixels.resized(to: resize.plan(sourceWidth: info.width, sourceHeight: info.height))
        #expect(small.width == 7 && small.height == 3 && small.psnr { expected[$0, $1] } > 45)
    }
}
