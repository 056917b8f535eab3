/// The colours that half blocks are drawn in.
enum ColorDepth: String, CaseIterable, Sendable {
    /// 24-bit colours, unchanged.
    case truecolor
    /// The nearest colours of xterm's palette.
    case palette = "256"
    /// No colours, but darker or lighter characters.
    case none
}
