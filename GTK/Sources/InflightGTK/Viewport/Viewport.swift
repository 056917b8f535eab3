/// The visible part of scrolled content, and the part likely to become visible next: a page ahead, a quarter behind.
package struct Viewport: Sendable {
    package var width: Double
    package var height: Double
    /// The scroll direction on each axis: 1 or -1.
    package var towards: (x: Double, y: Double)

    package init(width: Double, height: Double, direction: (x: Double, y: Double) = (0, 1)) {
        self.width = width
        self.height = height
        towards = direction
    }

    /// Returns the nearness of a cell whose frame is given in the viewport's coordinates.
    package func nearness(x: Double, y: Double, width cellWidth: Double, height cellHeight: Double) -> Nearness {
        let seen = x < width && x + cellWidth > 0 && y < height && y + cellHeight > 0
        if seen { return .visible }
        let left = width * (towards.x < 0 ? 1 : 0.25), right = width * (towards.x < 0 ? 0.25 : 1)
        let above = height * (towards.y < 0 ? 1 : 0.25), below = height * (towards.y < 0 ? 0.25 : 1)
        let near = x < width + right && x + cellWidth > -left && y < height + below && y + cellHeight > -above
        return near ? .near : .away
    }
}
