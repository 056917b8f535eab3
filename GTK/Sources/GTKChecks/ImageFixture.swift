import CInflightGTK
import CXPixels
import Inflight
import InflightGTK

/// A window with one remote image, and the pixels that the X server shows of it.
@safe @MainActor
final class ImageFixture {
    let window: UnsafeMutablePointer<GtkWidget>
    let image: RemoteImage
    static let side = 200

    init(pipeline: ImagePipeline, configure: (inout RemoteImage.Options) -> Void = { _ in }) {
        unsafe window = gtk_window_new()
        unsafe gtk_window_set_decorated(window.window, 0)
        unsafe gtk_window_set_default_size(window.window, Int32(Self.side), Int32(Self.side))
        image = RemoteImage(pipeline: pipeline)
        image.options.fit = .fill
        image.options.fade = .zero
        configure(&image.options)
        let picture = unsafe gtk_picture_new()!
        unsafe image.attach(picture: OpaquePointer(picture))
        unsafe gtk_window_set_child(window.window, picture)
        unsafe gtk_widget_show(window)
    }

    func close() {
        unsafe gtk_window_destroy(window.window)
    }

    /// Returns the colour at a position, or nil if the window has not been drawn in its size.
    func color(x: Int = 20, y: Int = 20) -> PixelColor? {
        var pixels = [UInt8](repeating: 0, count: Self.side * Self.side * 4)
        let read = unsafe pixels.withUnsafeMutableBufferPointer {
            unsafe x_pixels_read(window, $0.baseAddress!, Int32(Self.side), Int32(Self.side))
        }
        guard read == Self.side else { return nil }
        let at = (y * Self.side + x) * 4
        return PixelColor(red: pixels[at + 2], green: pixels[at + 1], blue: pixels[at])
    }
}

/// Images of one colour.
enum Plain {
    static func png(_ color: PixelColor, width: Int = 40, height: Int = 40) -> Bytes {
        let bytes = (0..<width * height).flatMap { _ in [color.red, color.green, color.blue, 255] as [UInt8] }
        let pixels = PixelBuffer(
            width: width, height: height, bytesPerRow: width * 4, format: .rgbx, bytes: Bytes(bytes))
        // Our own pixels are always a valid image.
        return try! ImagePipeline.Configuration().codecs.encode(pixels, options: EncodeOptions(format: .png))
    }

    /// Returns a GIF that loops forever, with frames of 100 ms. Frame 0 is red, 1 green, 2 blue, and so on in turn.
    static func gif(frames: Int) -> Bytes {
        var bytes: [UInt8] = Array("GIF89a".utf8) + [2, 0, 2, 0, 0xF1, 0, 0]
        bytes += [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]
        bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        for frame in 0..<frames {
            bytes += [0x21, 0xF9, 4, 0, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0, 2, 0, 2, 0, 0]
            // Four pixels of one index in codes of three bits: clear, two pixels, clear, two pixels, end. Without the
            // second clear, codes would have four bits from the fourth pixel on.
            let index = UInt32(frame % 3)
            var bits: UInt32 = 0
            for (place, code) in [4, index, index, 4, index, index, 5].enumerated() {
                bits |= code << UInt32(3 * place)
            }
            bytes += [2, 3, UInt8(bits & 255), UInt8(bits >> 8 & 255), UInt8(bits >> 16), 0]
        }
        return Bytes(bytes + [0x3B])
    }
}
