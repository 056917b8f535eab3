import Inflight
import InflightCore

/// The method of drawing images on this terminal.
enum Drawing: Equatable, Sendable {
    /// Pixels. `isKnown` says whether the terminal has reported the size of its cells.
    case kitty(TerminalWindow.Cell, isKnown: Bool)
    case blocks(ColorDepth, TerminalWindow.Cell?)

    /// - Parameter replies: The terminal's replies; `nil` if it was not queried.
    init(
        _ mode: ShowOptions.Mode, colors: ColorDepth?, profile: TerminalProfile, window: TerminalWindow,
        replies: TerminalReplies?
    ) {
        let cell = window.cell ?? replies?.cell
        let isKitty: Bool =
            switch mode {
            case .kitty: true
            case .blocks: false
            case .auto: colors == nil && profile.mayHaveKitty && replies?.hasKitty == true
            }
        if isKitty {
            self = .kitty(cell ?? .fallback, isKnown: cell != nil)
        } else {
            self = .blocks(colors ?? profile.colors, cell)
        }
    }

    var raster: ImageFit.Raster {
        switch self {
        case .kitty(let cell, _): .pixels(cell)
        case .blocks(.none, let cell): .letters(cell)
        case .blocks(_, let cell): .halfBlocks(cell)
        }
    }

    /// Returns the same method for a resized window, in which the size of cells may differ, too.
    func adapted(to window: TerminalWindow) -> Drawing {
        guard let cell = window.cell else { return self }
        switch self {
        case .kitty: return .kitty(cell, isKnown: true)
        case .blocks(let colors, _): return .blocks(colors, cell)
        }
    }

    /// The output for an image, or for one frame of it.
    enum Form: Equatable, Sendable {
        case lines([[UInt8]])
        case png(Bytes)
    }

    /// - Throws: ``LoadError/Code/cannotEncode``.
    func form(of pixels: PixelBuffer, _ codecs: CodecRegistry) throws(LoadError) -> Form {
        switch self {
        case .blocks(let colors, _): .lines(HalfBlocks(colors: colors).lines(TerminalPixels(pixels)))
        case .kitty: .png(try codecs.encode(pixels, options: EncodeOptions(format: .png)))
        }
    }
}
