import CInflightGTK
import Inflight
import InflightGTK

@MainActor
func textureParts(_ harness: Harness) {
    harness.part("a texture has the pixels of its buffer, and releases them") { harness in
        let before = inflight_live_textures()
        let formats: [PixelBuffer.Format] = [.premultipliedBGRA, .rgba, .rgbx]
        for format in formats {
            let bytes: [UInt8] = (0..<12).flatMap { _ in [10, 20, 30, 255] as [UInt8] }
            let texture = Texture(
                PixelBuffer(width: 4, height: 3, bytesPerRow: 16, format: format, bytes: Bytes(bytes)))
            harness.expect(inflight_live_textures() == before + 1, "the number of live textures did not grow by 1")
            var copy = [UInt8](repeating: 0, count: 48)
            // GTK downloads pixels in Cairo's format, premultiplied BGRA.
            unsafe gdk_texture_download(texture.pointer, &copy, 16)
            let expected: [UInt8] = format.order == .bgra ? [10, 20, 30, 255] : [30, 20, 10, 255]
            harness.expect(Array(copy[0..<4]) == expected, "\(format): \(copy[0..<4])")
        }
        harness.expect(inflight_live_textures() == before, "a texture was not released")
    }
}
