import Inflight

/// The kinds of images that the demo paints.
enum Scene: String, CaseIterable {
    case mountains, lake, sea, dunes, aurora, bokeh, skyline, meadow, forest, balloons

    /// Paints an image: the same one for the same arguments, on every machine.
    func picture(width: Int, height: Int, seed: UInt64) -> PixelBuffer {
        var dice = Dice(seed: seed)
        var canvas = Canvas(width: width, height: height)
        switch self {
        case .mountains: canvas.paintMountains(&dice)
        case .lake: canvas.paintLake(&dice)
        case .sea: canvas.paintSea(&dice)
        case .dunes: canvas.paintDunes(&dice)
        case .aurora: canvas.paintAurora(&dice)
        case .bokeh: canvas.paintBokeh(&dice)
        case .skyline: canvas.paintSkyline(&dice)
        case .meadow: canvas.paintMeadow(&dice)
        case .forest: canvas.paintForest(&dice)
        case .balloons: canvas.paintBalloons(&dice)
        }
        return canvas.developed(seed: dice.seed())
    }
}
