internal import CInflightGTK
public import InflightCore

/// A `GdkTexture` of decoded pixels.
///
/// The pixels are not copied. The texture retains the buffer, and releases it on whichever thread GTK frees the memory.
/// GTK uploads the texture when it is first drawn, and keeps it in the display's memory as long as the texture lives.
/// Premultiplied BGRA needs no conversion.
///
/// - Thread: any; a texture never changes.
/// - Cost: about a microsecond.
@safe public final class Texture: @unchecked Sendable {
    // A GdkTexture is immutable, and GObject's reference counts are atomic.
    /// The `GdkTexture`, which lives as long as this object.
    public let pointer: OpaquePointer
    /// The width, in pixels.
    public let width: Int
    /// The height, in pixels.
    public let height: Int

    /// Creates a texture that retains the memory of `pixels`.
    public init(_ pixels: PixelBuffer) {
        width = pixels.width
        height = pixels.height
        let owner = unsafe Unmanaged.passRetained(Owner(pixels.bytes)).toOpaque()
        let format = Self.format(pixels.format)
        unsafe pointer = pixels.withUnsafeBytes { memory in
            // The address is valid as long as the owner retains the bytes.
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
        // Opaque pixels equal their premultiplied form, which needs no conversion.
        case (.bgra, _): GDK_MEMORY_B8G8R8A8_PREMULTIPLIED
        case (.rgba, .straight): GDK_MEMORY_R8G8B8A8
        case (.rgba, _): GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
        }
    }
}

extension ImageRequest {
    /// Returns the request with the pixel layout that a texture uses without conversion: premultiplied BGRA.
    public func forTextures() -> ImageRequest {
        var request = self
        request.pixelOrder = .bgra
        request.premultipliesAlpha = true
        return request
    }
}
