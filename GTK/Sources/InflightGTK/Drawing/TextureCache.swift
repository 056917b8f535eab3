internal import InflightCore

/// The live textures by their pixels, so that an image that is bound again is not uploaded to the display again.
@MainActor
enum TextureCache {
    private struct Key: Hashable {
        var address: UInt
        var width: Int
        var height: Int
    }

    private struct Entry {
        weak var texture: Texture?
    }

    private static var entries: [Key: Entry] = [:]
    private static var limit = 256

    /// The key is the address of the pixels. A texture retains its pixels, so no other pixels can have that address
    /// while the texture lives.
    static func texture(of pixels: PixelBuffer) -> Texture {
        let address = unsafe pixels.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let key = Key(address: address, width: pixels.width, height: pixels.height)
        if let texture = entries[key]?.texture { return texture }
        let texture = Texture(pixels)
        if entries.count >= limit {
            entries = entries.filter { $0.value.texture != nil }
            limit = max(256, entries.count * 2)
        }
        entries[key] = Entry(texture: texture)
        return texture
    }
}
