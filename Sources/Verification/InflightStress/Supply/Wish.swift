import InflightCore
import InflightTestSupport

/// What one caller wants of an item, and what it therefore has to get.
struct Wish: Sendable {
    var item: Item
    /// 0: the picture's own size; else that many pixels wide.
    var size = 0
    /// Numbers of processors.
    var marks: [UInt8] = []
    /// Which of ``Item/themes`` is asked for.
    var theme = 0
    /// Whether ``Item/fallback`` is asked for where the item fails.
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

    /// Two of the same kind are the same wish to loaders and prefetchers, which do not look at fallbacks.
    static func withoutFallback(using random: inout SeededGenerator) -> Wish {
        var wish = Wish(using: &random)
        wish.hasFallback = false
        return wish
    }

    func request(_ supply: Supply, priority: LoadPriority = .normal) -> ImageRequest {
        var request = ImageRequest(
            supply.url(item), resize: size > 0 ? Resize(width: size, height: 1) : nil, priority: priority)
        if !marks.isEmpty { request.processors = marks.map { ImageProcessor(Mark(number: $0)) } }
        if theme > 0 { request.fields.append(Item.field, Item.themes[theme]) }
        if hasFallback { request.fallbacks = [supply.url(.fallback)] }
        return request
    }

    /// What is given in the end; `nil`: an error.
    private var given: Item? {
        switch item.kind {
        case .plain, .moved, .varying: item
        case .missing, .broken: hasFallback ? .fallback : nil
        }
    }

    private var givenTheme: Int { given?.kind == .varying ? theme : 0 }

    /// What is wrong with these bytes; `nil`: they are the right ones.
    func complaint(about body: Bytes) -> String? {
        guard let given else { return "bytes came for \(self), which cannot be loaded" }
        if body == given.body(theme: givenTheme) { return nil }
        return "wrong bytes for \(self): \(body.array.prefix(16))…"
    }

    /// What is wrong with this picture; `nil`: it is the right one.
    func complaint(about pixels: PixelBuffer) -> String? {
        guard let given else { return "a picture came for \(self), which cannot be loaded" }
        let seen = Stamp(pixels)
        let wanted = Stamp(
            number: UInt8(given.number), view: UInt8(givenTheme * 16 + size), marks: marks.reduce(0) { $0 * 4 + $1 })
        if seen == wanted, pixels.width == (size == 0 ? 2 : size) { return nil }
        return "a wrong picture for \(self): \(seen) in place of \(wanted)"
    }

    /// Whether this is how it fails, where nobody cancels and no pipeline is shut down.
    func mayFail(with code: LoadError.Code) -> Bool {
        guard given == nil else { return false }
        return item.kind == .missing ? code == .badStatus : code == .truncated
    }
}

/// What a picture's first pixel says.
struct Stamp: Equatable {
    var number: UInt8
    /// Theme × 16 + wanted width.
    var view: UInt8
    /// The numbers of the processors, four to the power of their place.
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
