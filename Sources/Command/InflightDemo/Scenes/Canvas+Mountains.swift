extension Canvas {
    mutating func paintMountains(_ dice: inout Dice) {
        let palette = dice.pick(Palette.days)
        let horizon = dice.float(0.58...0.72)
        let sun = Sun(
            u: dice.float(0.2...0.8) * aspect, v: horizon - dice.float(0.1...0.36), radius: dice.float(0.028...0.05))
        paintSky(palette, horizon: horizon + 0.1, sun: sun, clouds: dice.float(0.1...0.7), seed: dice.seed())
        if palette.isNight { paintStars(160, above: horizon, &dice) }
        paintRanges(palette, sun: sun, from: horizon - 0.2, to: 0.86, count: dice.int(4...6), &dice)
        paintPines(palette.land * 0.75, baseline: 0.93, height: dice.float(0.1...0.2), &dice)
    }

    /// Paints mountains mirrored in a lake.
    mutating func paintLake(_ dice: inout Dice) {
        let palette = dice.pick(from: [.dawn, .golden, .noon, .teal, .rose, .arctic, .autumn, .violet])
        let waterline = dice.float(0.54...0.64)
        let sun = Sun(
            u: dice.float(0.15...0.85) * aspect, v: waterline - dice.float(0.2...0.4), radius: dice.float(0.02...0.035))
        paintSky(palette, horizon: waterline, sun: sun, clouds: dice.float(0.2...0.8), seed: dice.seed())
        paintRanges(palette, sun: sun, from: waterline - 0.26, to: waterline - 0.01, count: 4, &dice)
        paintPines(
            palette.land.mixed(with: palette.light, 0.12), baseline: waterline - 0.004, height: dice.float(0.03...0.06),
            spacing: 0.012, &dice)
        paintWater(
            from: waterline, tint: palette.zenith * 0.7, darkness: 0.35, ripples: dice.float(0.25...0.7),
            seed: dice.seed())
        if dice.int(0...1) == 0 {
            paintPines(palette.land * 0.5, baseline: 1.04, height: dice.float(0.16...0.26), &dice)
        }
    }

    /// Paints ranges one behind another, with mist between; the farther ones take more of the sky's colour.
    mutating func paintRanges(
        _ palette: Palette, sun: Sun, from far: Float, to near: Float, count: Int, _ dice: inout Dice
    ) {
        let hasSnow = !palette.isNight && dice.int(0...1) == 0
        let seeds = (0..<count).map { _ in dice.seed() }
        let lines = seeds.enumerated().map { index, seed in
            let nearness = Float(index + 1) / Float(count)
            let base = far + (near - far) * nearness
            let rough = dice.float(1.5...2.3) * (1.3 - nearness * 0.4)
            let rise = (near - far) * (0.85 - 0.35 * nearness) + 0.06
            let offset = dice.float(0...100)
            return heights { u in base - rise * (Noise.ridges(u * rough + offset, octaves: 6, seed) - 0.28) }
        }
        for (index, seed) in seeds.enumerated() {
            let nearness = Float(index + 1) / Float(count)
            let body = palette.horizon.mixed(with: palette.middle, 0.35).mixed(
                with: palette.land, 0.18 + nearness * 0.72)
            let lit = body.mixed(with: palette.light, 0.42 - 0.2 * nearness)
            let snow = palette.sun.mixed(with: body, 0.12)
            let mist = palette.horizon.mixed(with: palette.middle, 0.25)
            paintBelow(lines[index], covers: lines[(index + 1)...]) { u, v, depth in
                // Gullies run down the slopes; the side that faces the sun is lighter.
                let grain = Noise.clouds(u * 16 + depth * 9, v * 11, octaves: 3, seed &+ 5)
                let slope = Noise.plane(u * 7 + depth * 5 * (sun.u > u ? 1 : -1), depth * 4, seed &+ 3)
                var color = body.mixed(with: lit, Math.step(0.35, 0.75, slope * 0.6 + grain * 0.4))
                if hasSnow, nearness < 0.8 {
                    let line = (0.11 - depth) * 6 + (grain - 0.5) * 2.2
                    color = color.mixed(with: snow.mixed(with: lit, 0.35 * grain), Math.step(0, 0.5, line) * 0.85)
                }
                let fog = Math.step(0.02, 0.3, depth) * (0.75 - 0.5 * nearness)
                return color.mixed(with: mist, fog)
            }
        }
    }

    /// Paints a line of firs in front of everything.
    mutating func paintPines(
        _ color: Color, baseline: Float, height: Float, spacing: Float = 0.03, _ dice: inout Dice
    ) {
        let seed = dice.seed()
        let ground = { (u: Float) in baseline + 0.03 * (Noise.hills(u * 2.5, octaves: 3, seed) - 0.5) }
        paintBelow(heights(of: ground)) { _, _, depth in color * (1 - Math.clamped(depth) * 0.4) }
        var u = -spacing
        while u < aspect + spacing {
            let size = height * dice.float(0.45...1) * (0.5 + Noise.line(u * 2.2, seed &+ 1))
            paintFir(u, ground(u) + 0.01, size, color.mixed(with: Color(repeating: 0), dice.float(0...0.25)), &dice)
            u += spacing * dice.float(0.5...1.5)
        }
    }

    /// Paints one fir: ragged tiers of branches, wider towards the ground.
    mutating func paintFir(_ u: Float, _ foot: Float, _ size: Float, _ color: Color, _ dice: inout Dice) {
        let tiers = max(4, size * 60)
        let spread = size * dice.float(0.17...0.24)
        let lean = dice.float(-0.02...0.02) * size
        let seed = dice.seed()
        let soft = pixel
        paintBox(u - spread * 1.2...u + spread * 1.2, foot - size...foot) { x, y, below in
            let t = (y - foot + size) / size
            let tier = t * tiers - (t * tiers).rounded(.down)
            let ragged = Noise.hash(Int32(t * tiers * 5), x < u ? 0 : 1, seed) * 0.3
            let half = spread * t * (0.5 + 0.5 * tier) * (1 - ragged) + soft * 0.4
            let distance = abs(x - u - lean * (1 - t))
            return below.mixed(with: color, (half - distance) / soft + 0.5)
        }
    }
}
