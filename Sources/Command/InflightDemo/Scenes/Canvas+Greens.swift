extension Canvas {
    /// Paints rolling hills with trees under a wide sky.
    mutating func paintMeadow(_ dice: inout Dice) {
        let palette = dice.pick(from: [.noon, .autumn, .golden, .rose, .arctic, .dawn])
        let horizon = dice.float(0.48...0.6)
        let sun = Sun(
            u: dice.float(0.1...0.9) * aspect, v: dice.float(0.1...0.3), radius: dice.float(0.03...0.045))
        paintSky(palette, horizon: horizon + 0.1, sun: sun, clouds: dice.float(0.5...1), seed: dice.seed())
        paintHills(palette, from: horizon, &dice)
        paintFlowers(from: 0.8, &dice)
    }

    private mutating func paintHills(_ palette: Palette, from horizon: Float, _ dice: inout Dice) {
        let greens: [Color] = [Color(0x7FA23C), Color(0x5E8C3A), Color(0x9AAE46), Color(0xC2A24A), Color(0x4F7F4A)]
        let count = 5
        let seeds = (0..<count).map { _ in dice.seed() }
        let near = (0..<count).map { Float($0) / Float(count - 1) }
        let lines = (0..<count).map { index in
            let base = horizon + 0.02 + near[index] * near[index] * 0.36
            let rise = 0.16 + 0.12 * near[index]
            return heights { u in base - rise * (Noise.hills(u * (2.2 - near[index]), octaves: 2, seeds[index]) - 0.4) }
        }
        for index in 0..<count {
            let nearness = near[index]
            let seed = seeds[index]
            let green = dice.pick(greens).mixed(with: palette.light, 0.3)
            let bright = green.mixed(with: palette.horizon, 0.5 * (1 - nearness))
            let dark = (green * 0.45).mixed(with: palette.middle, 0.5 * (1 - nearness))
            paintBelow(lines[index], covers: lines[(index + 1)...]) { u, v, depth in
                let field = Noise.clouds(u * 5, v * 22, octaves: 2, seed &+ 1)
                let blade = Noise.plane(u * 130, v * (60 + 60 * (1 - nearness)), seed &+ 2) - 0.5
                let shade = Math.step(0, 0.22, depth) * 0.6 + (field - 0.5) * 0.6
                return bright.mixed(with: dark, shade + blade * 0.3 * nearness)
            }
            let trees = [16, 18, 12, 5, 2][index]
            for _ in 0..<trees {
                let u = dice.float(0...1) * aspect
                let size = (0.018 + 0.075 * nearness * nearness) * dice.float(0.7...1.3)
                let leaf = dark.mixed(with: dice.pick(greens) * 0.6, 0.35)
                let foot = lines[index][min(width - 1, Int(u / pixel))]
                paintTree(u, foot + size * 0.3, size, leaf, bright, &dice)
            }
        }
    }

    /// Paints a round tree: a heap of leaves, lighter on top.
    mutating func paintTree(
        _ u: Float, _ foot: Float, _ size: Float, _ leaf: Color, _ light: Color, _ dice: inout Dice
    ) {
        let trunk = max(pixel * 0.7, size * 0.07)
        let bark = leaf * 0.55
        paintBox(u - trunk...u + trunk, foot - size * 0.9...foot) { _, _, _ in bark }
        let seed = dice.seed()
        for _ in 0..<9 {
            let du = dice.float(-0.55...0.55) * size
            let dv = dice.float(-1.75 ... -0.7) * size
            let radius = size * dice.float(0.35...0.6)
            let top = Math.clamped((-dv / size - 0.6) * 0.55 + dice.float(-0.1...0.15))
            let color = leaf.mixed(with: light, top * 0.6)
            paintAround(u + du, foot + dv, radius) { distance, below in
                let ragged = Noise.hash(Int32(distance * 9), Int32(du * 5000), seed) * 0.15
                return below.mixed(with: color, Math.step(1 - ragged, 0.72 - ragged, distance))
            }
        }
    }

    private mutating func paintFlowers(from top: Float, _ dice: inout Dice) {
        let sets: [[UInt32]] = [
            [0xE8483F, 0xF26B4E, 0xFFD9C7], [0xFFF3C4, 0xFFD84A, 0xFFFFFF], [0xB58AE8, 0xE6D2FF, 0x8466D8],
        ]
        let colors = dice.pick(sets).map { Color($0) }
        for _ in 0..<260 {
            let nearness = dice.float(0...1)
            let v = top + (1.02 - top) * nearness * nearness.squareRoot()
            let radius = max(pixel * 0.8, (0.002 + 0.007 * nearness * nearness) * dice.float(0.6...1.3))
            let color = dice.pick(colors) * dice.float(0.85...1)
            paintAround(dice.float(0...1) * aspect, v, radius) { distance, below in
                below.mixed(with: color, Math.step(1, 0.6, distance) * 0.95)
            }
        }
    }

    /// Paints trunks in the mist, and light between them.
    mutating func paintForest(_ dice: inout Dice) {
        let palette = dice.pick(from: [.teal, .golden, .autumn, .rose, .noon])
        let glow = Sun(u: dice.float(0.3...0.7) * aspect, v: dice.float(0.25...0.45), radius: 0.1)
        let mist = palette.horizon.mixed(with: palette.light, 0.25)
        let deep = palette.land.mixed(with: palette.light, 0.18)
        paint { u, v, _ in
            let du = u - glow.u
            let dv = v - glow.v
            let light = 1 / (1 + (du * du + dv * dv) * 6)
            return deep.mixed(with: palette.middle, 0.3).mixed(with: mist, light * 1.05)
        }
        let soft = pixel
        for layer in 0..<5 {
            let nearness = Float(layer + 1) / 5
            let color = mist.mixed(with: palette.land * 0.6, 0.12 + nearness * nearness * 0.88)
            let seed = dice.seed()
            let ground = 0.72 + 0.22 * nearness
            let trunks = [26, 18, 12, 8, 4][layer]
            for index in 0..<trunks {
                let u = (Float(index) + dice.float(0.1...0.9)) / Float(trunks) * aspect
                let half = (0.003 + 0.026 * nearness * nearness) * dice.float(0.7...1.3)
                let lean = dice.float(-0.04...0.04)
                paintBox(u - half * 2.2 - 0.05...u + half * 2.2 + 0.05, 0...ground) { x, y, below in
                    let root = Math.step(ground - 0.06, ground, y) * half * 0.7
                    let rough = (Noise.line(y * 9, seed &+ UInt32(index)) - 0.5) * half * 0.4
                    let distance = abs(x - u - lean * (ground - y) - rough)
                    let bark = Noise.plane(x * 160, y * 14, seed) - 0.5
                    let rim = Math.step(half * 0.4, half, distance) * Math.clamped(1 - abs(x - glow.u))
                    let shade = (color + color * bark * 0.35).mixed(with: mist, rim * 0.3 * nearness)
                    return below.mixed(with: shade, (half + root - distance) / soft + 0.5)
                }
            }
            let floor = { (u: Float) in ground - 0.05 * (Noise.hills(u * 3, octaves: 4, seed) - 0.4) }
            let moss = color.mixed(with: palette.light, 0.22)
            paintBelow(heights(of: floor)) { u, v, depth in
                let tuft = Noise.clouds(u * 22, v * 26, octaves: 2, seed &+ 7)
                return color.mixed(with: moss, Math.step(0.35, 0.75, tuft) * (1 - depth))
            }
            // Leaves above, paler with distance.
            let canopy = 0.05 + 0.16 * (1 - nearness) + 0.06 * nearness
            let rows = 0..<Int((canopy + 0.22) * Float(height))
            paint(rows: rows) { u, v, below in
                let leaves = Noise.clouds(u * (16 - 8 * nearness), v * (16 - 8 * nearness), octaves: 2, seed &+ 3)
                let cover = Math.step(0.45, 0.62, leaves + (canopy - v) * 2.2)
                return below.mixed(with: color.mixed(with: palette.light, leaves * 0.3), cover * (0.5 + 0.4 * nearness))
            }
        }
        paintShafts(palette, from: glow, &dice)
    }

    private mutating func paintShafts(_ palette: Palette, from glow: Sun, _ dice: inout Dice) {
        let seed = dice.seed()
        paint { u, v, below in
            let du = u - glow.u
            let dv = v + 0.25
            let ray = Noise.clouds(du / dv * 9 + 40, 0.5, octaves: 2, seed)
            let fade = Math.step(1.05, 0.2, v) * Math.step(0.9, 0.1, abs(du))
            return below.lit(by: palette.sun, Math.step(0.5, 0.85, ray) * fade * 0.4)
        }
    }

    /// Paints balloons over hills.
    mutating func paintBalloons(_ dice: inout Dice) {
        let palette = dice.pick(from: [.dawn, .rose, .golden, .noon, .desert])
        let horizon = dice.float(0.62...0.74)
        let sun = Sun(
            u: dice.float(0.1...0.9) * aspect, v: horizon - dice.float(0.08...0.25), radius: dice.float(0.03...0.05))
        paintSky(palette, horizon: horizon + 0.1, sun: sun, clouds: dice.float(0.3...0.8), seed: dice.seed())
        paintRanges(palette, sun: sun, from: horizon - 0.05, to: 0.98, count: 4, &dice)
        let sizes: [Float] = [0.03, 0.035, 0.05, 0.06, 0.09, 0.15]
        for size in sizes {
            let scale = size * dice.float(0.85...1.15)
            paintBalloon(dice.float(0.12...0.88) * aspect, dice.float(0.12...0.52), scale, palette, &dice)
        }
    }

    private mutating func paintBalloon(
        _ u: Float, _ v: Float, _ radius: Float, _ palette: Palette, _ dice: inout Dice
    ) {
        let sets: [[UInt32]] = [
            [0xE4572E, 0xF3A712, 0xFFF4D6], [0x2E86AB, 0xF6F5F0, 0xE8C547], [0xA23B72, 0xF18F01, 0xFFE8D0],
            [0x3B8E5A, 0xF2E9D0, 0xD94F4F], [0x5B3E90, 0xE7B7C8, 0xF7F0E4],
        ]
        let colors = dice.pick(sets).map { Color($0).mixed(with: palette.horizon, max(0, 0.5 - radius * 4)) }
        let gores = Float(dice.int(5...8))
        let soft = pixel
        paintBox(u - radius * 1.1...u + radius * 1.1, v - radius * 1.1...v + radius * 2.2) { x, y, below in
            let dx = (x - u) / radius
            let dy = (y - v) / radius
            // A sphere above, which narrows to a neck below.
            let half =
                dy < 0 ? (1 - min(1, dy * dy)).squareRoot() : max(0.16, (1 - dy * dy * 0.46).squareRoot() - dy * 0.1)
            if dy > -1, dy < 1.36 {
                let width = dy > 0.2 ? half * (1 - Math.step(0.2, 1.5, dy) * 0.72) : half
                let cover = Math.clamped((width - abs(dx)) * radius / soft + 0.5)
                if cover > 0 {
                    let around = max(-1, min(1, dx / max(0.05, width)))
                    let angle = around * (1 + around * around * 0.35)
                    let gore = Int(((angle + 1.4) * gores * 0.5).rounded(.down))
                    let light = 1.08 - 0.42 * Math.clamped(around * 0.5 + 0.5) - 0.12 * Math.clamped(dy)
                    return below.mixed(with: colors[gore % colors.count] * light, cover)
                }
            }
            if dy > 1.62, dy < 1.92, abs(dx) < 0.17 { return Color(0x5A3A22).mixed(with: palette.horizon, 0.15) }
            let rope = abs(abs(dx) - 0.15)
            if dy > 1.34, dy <= 1.62, rope * radius < soft * 0.6 { return below * 0.6 }
            return below
        }
    }
}
