/// Which colours half blocks are drawn in.
enum ColorDepth: String, CaseIterable, Sendable {
    /// 24 bits, as they are.
    case truecolor
    /// The nearest of xterm's palette.
    case palette = "256"
    /// None: letters that are darker or lighter.
    case none
}
