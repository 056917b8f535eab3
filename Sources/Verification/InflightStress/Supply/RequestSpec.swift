import InflightCore
import InflightTestSupport

/// A caller's request for an item, which determines the expected result.
struct RequestSpec: Sendable {
    var item: Item
    /// The width in pixels; 0 for the image's own size.
    var size = 0
    /// Numbers of processors.
    var marks: [UInt8] = []
    /// The index in ``Item/themes`` of the requested theme.
    var theme = 0
    /// Whether ``Item/fallback`` is requested if the item fails.
    var hasFallback = false

    init(_ item: Item) {
        self.item = item
    }

    init(using random: inout SeededGenerator) {
        item = Item(number: random.below(Item.count))
        if random.below(3) == 0 { size = 1 + random.below(3) }
        marks = [[], [], [], [1], [1, 2], [2]][random.below(6)]
        if random.below(3) == 0 { theme = random.below(Item.themes.count) }
        hasFallback = random.below(3) == 0
    }

    /// Returns a request without a fallback. Loaders and prefetchers ignore fallbacks when they compare requests.
    static func withoutFallback(using random: inout SeededGenerator) -> RequestSpec {
        var spec = RequestSpec(using: &random)
        spec.hasFallback = false
        return spec
    }

    func request(_ itemServer: ItemServer, priority: ImageRequest.Priority = .normal) -> ImageRequest {
        var request = ImageRequest(
            itemServer.url(item), resize: size > 0 ? Resize(width: size, height: 1) : nil, priority: priority)
        if !marks.isEmpty { request.processors = marks.map { ImageProcessor(Mark(number: $0)) } }
        if theme > 0 { request.fields.append(Item.field, Item.themes[theme]) }
        if hasFallback { request.fallbacks = [itemServer.url(.fallback)] }
        return request
    }

    /// The item that is finally delivered; nil for an error.
    private var given: Item? {
        switch item.kind {
        case .plain, .moved, .varying: item
        case .missing, .broken: hasFallback ? .fallback : nil
        }
    }

    private var givenTheme: Int { given?.kind == .varying ? theme : 0 }

    /// Returns a description of the mismatch, or nil if these bytes are the expected ones.
    func complaint(about body: Bytes) -> String? {
        guard let given else { return "bytes were delivered for \(self), which cannot be loaded" }
        if body == given.body(theme: givenTheme) { return nil }
        return "wrong bytes for \(self): \(body.array.prefix(16))…"
    }

    /// Returns a description of the mismatch, or nil if this image is the expected one.
    func complaint(about pixels: PixelBuffer) -> String? {
        guard let given else { return "an image was delivered for \(self), which cannot be loaded" }
        let seen = Stamp(pixels)
        let wanted = Stamp(
            number: UInt8(given.number), view: UInt8(givenTheme * 16 + size), marks: marks.reduce(0) { $0 * 4 + $1 })
        if seen == wanted, pixels.width == (size == 0 ? 2 : size) { return nil }
        return "a wrong image for \(self): \(seen) in place of \(wanted)"
    }

    /// Returns whether the load may fail with this code without a cancellation or a shutdown.
    func mayFail(with code: LoadError.Code) -> Bool {
        guard given == nil else { return false }
        return item.kind == .missing ? code == .badStatus : code == .truncated
    }
}

/// The contents of an image's first pixel.
struct Stamp: Equatable {
    var number: UInt8
    /// Theme × 16 + requested width.
    var view: UInt8
    /// The numbers of the processors, as digits to base 4.
    var marks: UInt8

    init(number: UInt8, view: UInt8, marks: UInt8) {
        self.number = number
        self.view = view
        self.marks = marks
    }

    init(_ pixels: PixelBuffer) {
        self = unsafe pixels.withUnsafeBytes { bytes in
            unsafe Stamp(number: bytes[0], view: bytes[1], marks: bytes[2])
        }
    }

    func pixels(width: Int) -> PixelBuffer {
        let row = (0..<width).flatMap { _ -> [UInt8] in [number, view, marks, 255] }
        return PixelBuffer(width: width, height: 1, bytesPerRow: width * 4, format: .rgbx, bytes: Bytes(row))
    }
}
