extension Canvas {
    /// Paints the open sea, with the sun's reflection on it.
    mutating func paintSea(_ dice: inout Dice) {
        let palette = dice.pick(from: [.golden, .ember, .violet, .dawn, .blueHour, .rose, .noon])
        let horizon = dice.float(0.46...0.6)
        let sun = Sun(
            u: dice.float(0.25...0.75) * aspect, v: horizon - dice.float(0.02...0.2), radius: dice.float(0.04...0.065))
        paintSky(palette, horizon: horizon, sun: sun, clouds: dice.float(0.45...0.95), seed: dice.seed())
        paintWater(from: horizon, tint: palette.zenith * 0.75, darkness: 0.3, ripples: 0.9, seed: dice.seed())
        let seed = dice.seed()
        paint(rows: min(height, Int(horizon * Float(height)))..<height) { u, v, below in
            let depth = (v - horizon) / (1 - horizon)
            let frequency = 30 / (0.1 + depth)
            let wave = Noise.clouds(u * frequency * 0.35, v * frequency * 2.4, octaves: 2, seed)
            let path = abs(u - sun.u) / (0.045 + depth * 0.3)
            let glitter = Math.step(0.52, 0.78, wave) * Math.clamped(1.25 - path)
            let haze = 1 - Math.step(0, 0.05, depth)
            return below.lit(by: palette.sun, glitter * 0.95).mixed(with: palette.horizon, haze * 0.5)
        }
        if dice.int(0...2) != 0 {
            let seed = dice.seed()
            let side: Float = dice.int(0...1) == 0 ? 0 : 1
            let wide = aspect
            let cliff = { (u: Float) in
                let reach = abs(u / wide - side)
                return horizon + 0.004 - max(0, 0.3 - reach) * (0.35 + 0.5 * Noise.ridges(u * 5, octaves: 5, seed))
            }
            let land = palette.land.mixed(with: palette.horizon, 0.3)
            paintBelow(heights(of: cliff), until: horizon + 0.004) { u, _, depth in
                land.mixed(with: palette.light, Noise.plane(u * 40, depth * 30, seed) * 0.25)
            }
        }
        if dice.int(0...1) == 0 { paintSail(palette, horizon: horizon, &dice) }
    }

    /// Paints a sailing boat, far out.
    private mutating func paintSail(_ palette: Palette, horizon: Float, _ dice: inout Dice) {
        let size = dice.float(0.05...0.11)
        let u = dice.float(0.15...0.85) * aspect
        let foot = horizon + size * 0.28
        let dark = palette.land * 0.8
        let sail = palette.sun.mixed(with: palette.light, 0.35)
        let soft = pixel
        paintBox(u - size...u + size, foot - size * 1.2...foot) { x, y, below in
            let t = (foot - y) / size
            let dx = (x - u) / size
            if t < 0.16 {
                let half = 0.3 + t * 0.9
                return below.mixed(with: dark, (half - abs(dx)) * size / soft)
            }
            let rise = (t - 0.2) / 0.95
            guard rise > 0, rise < 1 else { return below }
            let main = min(dx - 0.02, 0.4 * (1 - rise) - dx)
            let jib = min(-0.02 - dx, 0.26 * (1 - rise * 1.15) + dx)
            let cover = Math.clamped(max(main, jib) * size / soft)
            return below.mixed(with: main > jib ? sail : sail * 0.88, cover)
        }
        paintBox(u - size * 0.4...u + size * 0.4, foot...foot + size * 0.9) { x, y, below in
            let t = (y - foot) / (size * 0.9)
            let wobble = Noise.line(y * 260, 5) * 0.25
            let half = size * 0.3 * (1 - t)
            let cover = Math.clamped((half - abs(x - u - (wobble - 0.12) * size * 0.4)) / soft)
            return below.mixed(with: dark, cover * 0.5 * (1 - t))
        }
    }

    /// Paints dunes, each with a bright side and a dark one, divided by its crest.
    mutating func paintDunes(_ dice: inout Dice) {
        let palette = dice.pick(from: [.desert, .desert, .golden, .ember, .rose, .violet])
        let horizon = dice.float(0.4...0.5)
        let sun = Sun(
            u: dice.float(0.1...0.9) * aspect, v: horizon - dice.float(0.1...0.3), radius: dice.float(0.025...0.045))
        paintSky(palette, horizon: horizon + 0.1, sun: sun, clouds: dice.float(0...0.4), seed: dice.seed())
        let count = 6
        let seeds = (0..<count).map { _ in dice.seed() }
        let near = (0..<count).map { Float($0) / Float(count - 1) }
        let scales = near.map { (2.4 - 1.5 * $0) * dice.float(0.8...1.2) }
        let crests = (0..<count).map { index in
            let base = horizon + 0.02 + near[index] * near[index] * 0.44
            let rise = 0.06 + 0.2 * near[index]
            return heights { u in base - rise * (Noise.ridges(u * scales[index], octaves: 2, seeds[index]) - 0.35) }
        }
        let fromLeft: Float = sun.u < aspect / 2 ? 1 : -1
        for index in 0..<count {
            let nearness = near[index]
            let scale = scales[index]
            let seed = seeds[index]
            let bright = palette.light.mixed(with: palette.horizon, 0.6 - 0.4 * nearness)
            let dark = palette.land.mixed(with: palette.middle, 0.5 - 0.35 * nearness).mixed(with: palette.light, 0.25)
            paintBelow(crests[index], covers: crests[(index + 1)...]) { u, v, depth in
                // The side of the crest above this position: the edge runs down from the crest in a bow.
                let bow = u * scale + fromLeft * (depth * 1.6 + depth * depth * 1.5) * scale
                let slope = Noise.line(bow + 0.04, seed) - Noise.line(bow - 0.04, seed)
                let isRising = Noise.line(bow, seed) < 0.5 ? slope : -slope
                let wind = Noise.plane(u * 16 + depth * 30, v * (130 - 60 * nearness), seed &+ 4) - 0.5
                let shade = Math.step(-0.012, 0.03, isRising * fromLeft + wind * 0.012)
                let color = bright.mixed(with: dark, shade * (0.85 - Math.clamped(depth) * 0.9))
                return (color + color * wind * 0.12).mixed(with: palette.horizon, (1 - nearness) * 0.2)
            }
        }
    }
}
