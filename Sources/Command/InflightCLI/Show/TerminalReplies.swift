/// Parses a terminal's replies to ``KittyGraphics/question(asksCell:)``, in arbitrary pieces, mixed with typed input.
struct TerminalReplies: Equatable, Sendable {
    /// Whether the terminal has reported Kitty graphics.
    private(set) var hasKitty = false
    private(set) var cell: TerminalWindow.Cell?
    /// Whether the last reply, the device attributes, has arrived.
    private(set) var isComplete = false

    private enum State: Equatable {
        case ground
        case escape
        case sequence
        /// A control string, up to its terminator, ST or BEL. `isCommand` is true for an application program command.
        case string(isCommand: Bool)
        case stringEscape(isCommand: Bool)
    }

    private var state = State.ground
    private var text: [UInt8] = []
    /// The maximum number of stored bytes of a sequence. Longer sequences are no replies to the query.
    private static let longest = 256

    init() {}

    mutating func received(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { received(byte) }
    }

    private mutating func received(_ byte: UInt8) {
        switch state {
        case .ground:
            if byte == 0x1B { state = .escape }
        case .escape:
            text = []
            switch byte {
            case UInt8(ascii: "["): state = .sequence
            case UInt8(ascii: "_"): state = .string(isCommand: true)
            // DCS, SOS, OSC and PM have the same terminator.
            case UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "]"), UInt8(ascii: "^"):
                state = .string(isCommand: false)
            case 0x1B: break
            default: state = .ground
            }
        case .sequence:
            switch byte {
            case 0x1B: state = .escape
            case 0x20..<0x40: append(byte)
            case 0x40..<0x7F:
                sequence(final: byte)
                state = .ground
            default: state = .ground
            }
        case .string(let isCommand):
            switch byte {
            case 0x1B: state = .stringEscape(isCommand: isCommand)
            case 0x07: state = .ground
            default: append(byte)
            }
        case .stringEscape(let isCommand):
            if byte == UInt8(ascii: "\\") {
                if isCommand { command() }
                state = .ground
            } else {
                state = .escape
                received(byte)
            }
        }
    }

    private mutating func append(_ byte: UInt8) {
        if text.count < Self.longest { text.append(byte) }
    }

    private mutating func sequence(final: UInt8) {
        let parameters = String(decoding: text, as: UTF8.self)
        switch final {
        case UInt8(ascii: "c") where parameters.hasPrefix("?"):
            isComplete = true
        case UInt8(ascii: "t"):
            // The reply consists of 6, the height and the width (XTWINOPS of xterm).
            let numbers = parameters.split(separator: ";").map { Int($0) ?? 0 }
            if numbers.count == 3, numbers[0] == 6 {
                cell = TerminalWindow.Cell(width: numbers[2], height: numbers[1])
            }
        default: break
        }
    }

    private mutating func command() {
        let parts = String(decoding: text, as: UTF8.self).split(separator: ";", maxSplits: 1)
        guard parts.count == 2, let keys = parts.first, keys.hasPrefix("G"), parts[1] == "OK" else { return }
        hasKitty = hasKitty || keys.dropFirst().split(separator: ",").contains("i=\(KittyGraphics.questionID)")
    }
}
