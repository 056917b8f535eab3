/// The colours of a place at one hour of the day.
struct Palette {
    var zenith: Color
    var middle: Color
    var horizon: Color
    var sun: Color
    /// The colour of the nearest land, in shade.
    var land: Color
    /// The colour of the light on land and trees.
    var light: Color
    var isNight = false

    /// Returns the sky's colour, from the horizon (0) to the zenith (1).
    @inline(__always)
    func sky(_ height: Float) -> Color {
        height < 0.42
            ? horizon.mixed(with: middle, Math.step(0, 0.42, height))
            : middle.mixed(with: zenith, Math.step(0.42, 1, height))
    }

    private init(
        _ zenith: UInt32, _ middle: UInt32, _ horizon: UInt32, sun: UInt32, land: UInt32, light: UInt32,
        isNight: Bool = false
    ) {
        self.zenith = Color(zenith)
        self.middle = Color(middle)
        self.horizon = Color(horizon)
        self.sun = Color(sun)
        self.land = Color(land)
        self.light = Color(light)
        self.isNight = isNight
    }

    static let dawn = Palette(0x3C4E82, 0xC98AA6, 0xFFD3A8, sun: 0xFFF1D6, land: 0x1F2440, light: 0xE8A58C)
    static let golden = Palette(0x2E5C8A, 0xE9A85C, 0xFFE1A0, sun: 0xFFF6DC, land: 0x2B1D1A, light: 0xE0954A)
    static let noon = Palette(0x1E64B4, 0x6AAEE6, 0xD9EEF8, sun: 0xFFFFFF, land: 0x1C3B2A, light: 0x9DBE5B)
    static let teal = Palette(0x0F3B4C, 0x3F8C93, 0xCFEBDD, sun: 0xF7FFF0, land: 0x0A2229, light: 0x6CB6A0)
    static let violet = Palette(0x231942, 0x7B4C93, 0xF2A6B8, sun: 0xFFE3D8, land: 0x150F2B, light: 0xC07AA8)
    static let ember = Palette(0x3A1530, 0xC2413B, 0xFFB35C, sun: 0xFFEFB8, land: 0x170A18, light: 0xE8703C)
    static let arctic = Palette(0x4A7FB0, 0xA9CDE6, 0xF6F3EE, sun: 0xFFFFFF, land: 0x25405A, light: 0xDDEBF5)
    static let autumn = Palette(0x5A86A8, 0xB9CBCB, 0xF8E6C4, sun: 0xFFF7E0, land: 0x3A1F14, light: 0xD9822B)
    static let rose = Palette(0x5B6FA8, 0xE2A3B5, 0xFCE4D6, sun: 0xFFFAF0, land: 0x2C2A4A, light: 0xF0B6A0)
    static let blueHour = Palette(
        0x0B1B3F, 0x264E86, 0xE7A77C, sun: 0xFFD9A8, land: 0x060D20, light: 0x4E79B5, isNight: true)
    static let night = Palette(
        0x030816, 0x0C2140, 0x2F5573, sun: 0xE8F0FF, land: 0x02060E, light: 0x2A4A66, isNight: true)
    static let desert = Palette(0x3D7FB5, 0x9CC5D8, 0xFBE3C0, sun: 0xFFFBEA, land: 0x6B2F16, light: 0xF0A860)

    static let days: [Palette] = [.dawn, .golden, .noon, .teal, .violet, .ember, .arctic, .autumn, .rose, .blueHour]
}
