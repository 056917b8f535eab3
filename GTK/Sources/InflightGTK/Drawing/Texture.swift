internal import CInflightGTK
public import InflightCore

/// A `GdkTexture` of decoded pixels.
///
/// The pixels are not copied: the texture holds the buffer, and lets go of it on whichever thread GTK gives the memory up.
/// GTK uploads it when it is first drawn, and keeps it in the display's memory as long as the texture lives; premultiplied
/// BGRA needs no conversion by the way.
///
/// - Thread: any; a texture never changes. - Cost: about a microsecond.
@safe public final class Texture: @unchecked Sendable {
    // A GdkTexture is immutable, and GObject's reference counts are atomic.
    /// The `GdkTexture`, which lives as long as this.
    public let pointer: OpaquePointer
    public let width: Int
    public let height: Int

    public init(_ pixels: PixelBuffer) {
        width = pixels.width
        height = pixels.height
        let owner = unsafe Unmanaged.passRetained(Owner(pixels.bytes)).toOpaque()
        let format = Self.format(pixels.format)
        unsafe pointer = pixels.withUnsafeBytes { memory in
            // The address holds for as long as the owner holds the bytes.
            unsafe inflight_texture_new(
                Int32(pixels.width), Int32(pixels.height), format, memory.baseAddress!, gsize(memory.count),
                gsize(pixels.bytesPerRow), owner, { unsafe Unmanaged<Owner>.fromOpaque($0).release() })
        }
    }

    deinit {
        unsafe g_object_unref(UnsafeMutableRawPointer(pointer))
    }

    private final class Owner: Sendable {
        let bytes: Bytes
        init(_ bytes: Bytes) {
            self.bytes = bytes
        }
    }

    private static func format(_ format: PixelBuffer.Format) -> GdkMemoryFormat {
        switch (format.order, format.alpha) {
        case (.bgra, .straight): GDK_MEMORY_B8G8R8A8
        // Opaque pixels are their own premultiplied ones, and those need no conversion.
        case (.bgra, _): GDK_MEMORY_B8G8R8A8_PREMULTIPLIED
        case (.rgba, .straight): GDK_MEMORY_R8G8B8A8
        case (.rgba, _): GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
        }
    }
}

extension ImageRequest {
    /// The same picture in the layout that a texture needs no conversion of.
    public func forTextures() -> ImageRequest {
        var request = self
        request.pixelOrder = .bgra
        request.premultipliesAlpha = true
        return request
    }
}
