/// The source of light.
struct Sun {
    var u: Float
    var v: Float
    var radius: Float
}

extension Canvas {
    /// Paints a sky down to the horizon, with a sun, its glow, and clouds.
    mutating func paintSky(_ palette: Palette, horizon: Float, sun: Sun, clouds: Float, seed: UInt32) {
        let rows = 0..<min(height, Int(horizon * Float(height)) + 2)
        paint(rows: rows) { u, v, _ in
            let altitude = Math.clamped((horizon - v) / max(0.2, horizon))
            let du = u - sun.u
            let dv = v - sun.v
            let distance = (du * du + dv * dv).squareRoot()
            let glow = 1 / (1 + distance * distance * 9)
            var color = palette.sky(altitude)
            color = color.mixed(with: palette.horizon, glow * glow * 0.75)
            if clouds > 0 {
                // Clouds lie flat, and the nearer the horizon, the flatter.
                let far = 0.35 + altitude
                let density = Noise.clouds(u * 1.7 / far + 13, v * 6 / far + 3, octaves: 4, seed)
                let cover = Math.step(0.62 - clouds * 0.28, 0.86 - clouds * 0.12, density)
                let lit = palette.horizon.mixed(with: palette.sun, 0.35 + 0.5 * glow)
                let shaded = palette.middle.mixed(with: palette.horizon, 0.45)
                let cloud = shaded.mixed(with: lit, Math.step(0.9, 0.55, density) * 0.8 + glow * 0.3)
                color = color.mixed(with: cloud, cover * (0.35 + 0.5 * Math.step(0, 0.3, altitude)))
            }
            let halo = Math.clamped(1 - distance / (sun.radius * 9))
            color = color.lit(by: palette.sun, halo * halo * halo * 0.75)
            let disc = Math.clamped((sun.radius - distance) / (sun.radius * 0.12) + 0.5)
            return color.mixed(with: palette.sun, disc)
        }
    }

    mutating func paintStars(_ count: Int, above horizon: Float, _ dice: inout Dice) {
        for _ in 0..<count {
            let u = dice.float(0...aspect)
            let v = dice.float(0...horizon)
            let strength = dice.float(0.15...1)
            let fade = Math.step(horizon, horizon * 0.4, v)
            let tint = Color(1, dice.float(0.85...1), dice.float(0.75...1), 0)
            paintAround(u, v, max(pixel * 1.3, 0.0016 + 0.0012 * strength)) { distance, below in
                below.lit(by: tint, (1 - distance) * strength * fade * 1.3)
            }
        }
    }

    /// Mirrors the scene above the waterline in the area below it, with ripples that grow towards the viewer.
    mutating func paintWater(from waterline: Float, tint: Color, darkness: Float, ripples: Float, seed: UInt32) {
        let first = min(height, max(0, Int(waterline * Float(height))))
        let size = pixel
        for y in first..<height {
            let v = (Float(y) + 0.5) * size
            let depth = (v - waterline) / max(0.05, 1 - waterline)
            // Waves far away are small and lie close together.
            let frequency = 26 / (0.12 + depth)
            for x in 0..<width {
                let u = (Float(x) + 0.5) * size
                let wave = Noise.plane(u * frequency * 0.16, v * frequency * 1.4, seed) - 0.5
                let fine = Noise.plane(u * frequency * 0.5, v * frequency * 3.1, seed &+ 9) - 0.5
                let swell = (wave + fine * 0.5) * ripples * (0.15 + depth)
                let source = 2 * waterline - v + swell * 0.22
                let reflected = color(u + swell * 0.03, min(waterline - size, max(0, source)))
                let shade = reflected * (1 - darkness * (0.35 + 0.65 * depth))
                pixels[y * width + x] = shade.mixed(with: tint, 0.12 + 0.28 * depth).lit(by: reflected, max(0, swell))
            }
        }
    }
}
