extension Canvas {
    /// Paints northern lights over firs.
    mutating func paintAurora(_ dice: inout Dice) {
        let palette = Palette.night
        let horizon: Float = 0.82
        paint { _, v, _ in palette.sky((horizon - v) / horizon) }
        paintStars(320, above: horizon, &dice)
        let hues: [(Color, Color)] = [
            (Color(0x3DFFB0), Color(0x7A4BFF)), (Color(0x7CFF6B), Color(0x1FB8D8)), (Color(0x4BE3FF), Color(0xE04BB4)),
        ]
        let (low, high) = dice.pick(hues)
        for _ in 0..<3 {
            let seed = dice.seed()
            let base = dice.float(0.42...0.68)
            let reach = dice.float(0.25...0.45)
            let strength = dice.float(0.5...0.9)
            let curtain = (0..<width).map { x -> (foot: Float, light: Float) in
                let u = (Float(x) + 0.5) * pixel
                let fold = Noise.hills(u * 1.6, octaves: 3, seed)
                let rays = 0.35 + 0.65 * Noise.clouds(u * 28, 0.5, octaves: 3, seed &+ 8)
                return (
                    base + (fold - 0.5) * 0.5, rays * Math.step(0.25, 0.62, Noise.hills(u * 1.1, octaves: 2, seed &+ 1))
                )
            }
            let size = pixel
            for y in 0..<height {
                let v = (Float(y) + 0.5) * size
                for x in 0..<width {
                    let rise = (curtain[x].foot - v) / reach
                    if rise < -0.08 || rise > 1.4 { continue }
                    let fade = rise < 0 ? 1 + rise / 0.08 : (1 - rise / 1.4) * (1 - rise / 1.4)
                    let light = low.mixed(with: high, Math.step(0.1, 0.8, rise))
                    let index = y * width + x
                    pixels[index] = pixels[index].lit(by: light, fade * curtain[x].light * strength)
                }
            }
        }
        paintRanges(palette, sun: Sun(u: 0, v: 0, radius: 0.01), from: 0.68, to: 0.86, count: 2, &dice)
        paintPines(Color(0x02060A), baseline: 0.93, height: dice.float(0.16...0.28), &dice)
    }

    /// Paints lights out of focus.
    mutating func paintBokeh(_ dice: inout Dice) {
        let sets: [(Color, Color, [UInt32])] = [
            (Color(0x0B1026), Color(0x3A1C4A), [0xFFB347, 0xFF7F6B, 0xFFD98A, 0xC792EA, 0x7FB7FF]),
            (Color(0x06181A), Color(0x11403A), [0xB8F27C, 0x5FE0B0, 0xFFE38A, 0x8AD8FF]),
            (Color(0x1B0A12), Color(0x54202A), [0xFF8A5C, 0xFFC46B, 0xFF5C7A, 0xFFE6C2]),
            (Color(0x050B1E), Color(0x173A6B), [0x6FC3FF, 0xB9E1FF, 0xFFD7A1, 0x8E9BFF]),
        ]
        let (top, bottom, lights) = dice.pick(sets)
        let seed = dice.seed()
        let slant = dice.float(-0.4...0.4)
        paint { u, v, _ in
            let cloud = Noise.clouds(u * 1.6, v * 1.6, octaves: 3, seed)
            return top.mixed(with: bottom, v * 0.7 + slant * (u / 1.5 - 0.5) + (cloud - 0.5) * 0.9)
        }
        for layer in 0..<3 {
            let size: Float = [0.16, 0.095, 0.05][layer]
            for _ in 0..<[16, 30, 46][layer] {
                let color = Color(dice.pick(lights))
                let radius = size * dice.float(0.6...1.25)
                let strength = dice.float(0.12...0.5) * (0.65 + 0.25 * Float(layer))
                let edge = max(pixel * 1.5 / radius, [0.22, 0.1, 0.05][layer])
                let spread = dice.float(0...1) + dice.float(0...1)
                paintAround(dice.float(-0.05...1.05) * aspect, spread * 0.5, radius) { distance, below in
                    let rim = 0.72 + 0.4 * Math.step(0.7, 0.97, distance)
                    return below.lit(by: color, strength * rim * Math.step(1, 1 - edge, distance))
                }
            }
        }
    }

    /// Paints a city at dusk, on the water.
    mutating func paintSkyline(_ dice: inout Dice) {
        let palette = dice.pick(from: [.blueHour, .violet, .ember, .dawn, .night])
        let waterline = dice.float(0.7...0.8)
        let sun = Sun(u: dice.float(0.2...0.8) * aspect, v: dice.float(0.2...0.5), radius: dice.float(0.03...0.05))
        paintSky(palette, horizon: waterline, sun: sun, clouds: dice.float(0.2...0.7), seed: dice.seed())
        if palette.isNight { paintStars(120, above: waterline * 0.8, &dice) }
        for layer in 0..<3 {
            let nearness = Float(layer) / 2
            let wall = palette.horizon.mixed(with: palette.land, 0.45 + 0.5 * nearness)
            var u: Float = -0.05
            while u < aspect {
                let wide = dice.float(0.035...0.085)
                let centre = max(0.3, 1 - abs(u / aspect - 0.5) * 0.9)
                let tall = dice.float(0.1...0.42) * centre * (1.15 - 0.45 * nearness)
                paintTower(u...u + wide, waterline - tall, waterline, wall, nearness, palette, &dice)
                u += wide * dice.float(0.75...1.2)
            }
        }
        paintWater(
            from: waterline, tint: palette.zenith * 0.6, darkness: 0.25, ripples: dice.float(0.6...1.1),
            seed: dice.seed())
    }

    private mutating func paintTower(
        _ span: ClosedRange<Float>, _ top: Float, _ foot: Float, _ wall: Color, _ nearness: Float, _ palette: Palette,
        _ dice: inout Dice
    ) {
        let seed = dice.seed()
        let lights = [Color(0xFFD48A), Color(0xFFE9BF), Color(0xFFB46B), Color(0xBFD9FF)]
        let light = dice.pick(lights)
        let lively = dice.float(0.18...0.5) * (0.4 + 0.6 * nearness)
        let cell = max(pixel * 3, 0.011)
        paintBox(span, top...foot) { u, v, _ in
            let shaded = wall.mixed(with: palette.horizon, (v - top) * 0.5)
            let side = wall * (u - span.lowerBound < (span.upperBound - span.lowerBound) * 0.3 ? 1.08 : 1)
            let column = (u - span.lowerBound) / cell
            let row = (v - top) / (cell * 1.35)
            let inside = column - column.rounded(.down) > 0.35 && row - row.rounded(.down) > 0.45 && row > 0.6
            let base = side.mixed(with: shaded, 0.5)
            guard inside, Noise.hash(Int32(column), Int32(row), seed) < lively else { return base }
            return base.mixed(with: light, 0.45 + 0.45 * Noise.hash(Int32(row), Int32(column), seed))
        }
        guard dice.int(0...3) == 0 else { return }
        let middle = (span.lowerBound + span.upperBound) / 2
        let mast = max(pixel, 0.0022)
        paintBox(middle - mast...middle + mast, top - dice.float(0.03...0.08)...top) { _, _, _ in wall }
    }
}
