import InflightCore
import InflightPictures
import Testing

@Suite(.timeLimit(.minutes(10)))
struct OrientationTests {
    @Test("Each orientation is applied once, in both byte orders of EXIF", arguments: ImageInfo.Orientation.allCases)
    func applied(_ orientation: ImageInfo.Orientation) throws {
        for little in [false, true] {
            let exif = Pieces.exif(orientation: orientation.rawValue, little: little)
            let files = [
                Pieces.jpeg(Fixtures.baselineJPEG, adding: 0xE1, Array("Exif\0\0".utf8) + exif),
                Pieces.png(Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", exif)),
                // After the pixels.
                Array(Fixtures.rgbPNG.dropLast(12)) + Pieces.chunk("eXIf", exif) + Fixtures.rgbPNG.suffix(12),
                Self.webp(exif: exif),
            ]
            for file in files {
                let information = try info(file)
                #expect(information.orientation == orientation)
                #expect(information.width == (orientation.swapsAxes ? 12 : 16))
                let pixels = try decode(file)
                #expect(pixels.width == information.width && pixels.height == information.height)
                #expect(
                    pixels.psnr {
                        let (x, y) = Scene.stored(orientation, $0, $1)
                        return Scene.color(x, y)
                    } > 32)
            }
        }
    }

    @Test("Each EXIF integer type is applied as in Pillow and libvips, and reset with the metadata")
    func types() throws {
        for (type, little) in [1, 3, 4, 6, 8, 9, 5, 12].flatMap({ [($0, false), ($0, true)] }) {
            let exif = Pieces.exif(orientation: 6, little: little, type: type)
            let file = Pieces.png(Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", exif))
            #expect(try info(file).orientation == ([5, 12].contains(type) ? .up : .right), "type \(type)")
            let fitted = ImageMetadata(exifBytes: Bytes(exif)).fitted(width: 16, height: 12).exifBytes?.array ?? []
            #expect(try info(Pieces.png(Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", fitted))).orientation == .up)
        }
    }

    @Test("A crop is taken after the orientation is applied", arguments: ImageInfo.Orientation.allCases)
    func cropped(_ orientation: ImageInfo.Orientation) throws {
        let exif = Pieces.exif(orientation: orientation.rawValue)
        let file = Pieces.png(Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", exif))
        let resize = Resize(width: 7, height: 3, fit: .cover)
        let pixels = try decode(file, DecodeOptions(resize: resize))
        let expected = try decode(file).resized(
            to: resize.plan(sourceWidth: try info(file).width, sourceHeight: try info(file).height))
        #expect(pixels.width == 7 && pixels.height == 3)
        #expect(pixels.psnr { expected[$0, $1] } > 45)
    }

    @Test("A malformed or invalid orientation is ignored")
    func broken() throws {
        let good = Pieces.exif(orientation: 6)
        for length in 0..<20 {
            let file = Pieces.jpeg(
                Fixtures.baselineJPEG, adding: 0xE1, Array("Exif\0\0".utf8) + good[..<length])
            #expect(try info(file).orientation == .up)
        }
        for value in [0, 9, 65535] {
            let file = Pieces.png(
                Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", Pieces.exif(orientation: value)))
            #expect(try info(file).orientation == .up)
        }
        var far = good
        far.replaceSubrange(4..<8, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try info(Pieces.png(Fixtures.rgbPNG, adding: Pieces.chunk("eXIf", far))).orientation == .up)
    }

    /// The lossless fixture with a header that announces metadata, and the metadata.
    static func webp(exif: [UInt8]) -> [UInt8] {
        let image = Array(Fixtures.losslessWebP[12...])
        let header = Array("VP8X".utf8) + Pieces.little32(10) + [0x08, 0, 0, 0, 15, 0, 0, 11, 0, 0]
        let metadata = Array("EXIF".utf8) + Pieces.little32(exif.count) + exif
        let body = Array("WEBP".utf8) + header + image + metadata + [UInt8](repeating: 0, count: exif.count % 2)
        return Array("RIFF".utf8) + Pieces.little32(body.count) + body
    }
}
