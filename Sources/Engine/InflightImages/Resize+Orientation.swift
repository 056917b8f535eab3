extension Resize.Plan {
    /// Returns the same plan for the pixels as stored, which `orientation` turns upright afterwards.
    package func stored(for orientation: ImageInfo.Orientation) -> Resize.Plan {
        let right = scaledWidth - cropX - width
        let below = scaledHeight - cropY - height
        // The origin of the kept part on the stored axes.
        let (x, y) =
            switch orientation {
            case .up: (cropX, cropY)
            case .upMirrored: (right, cropY)
            case .down: (right, below)
            case .downMirrored: (cropX, below)
            case .leftMirrored: (cropY, cropX)
            case .right: (cropY, right)
            case .rightMirrored: (below, right)
            case .left: (below, cropX)
            }
        return orientation.swapsAxes
            ? Resize.Plan(
                scaledWidth: scaledHeight, scaledHeight: scaledWidth, cropX: x, cropY: y, width: height, height: width,
                light: light)
            : Resize.Plan(
                scaledWidth: scaledWidth, scaledHeight: scaledHeight, cropX: x, cropY: y, width: width, height: height,
                light: light)
    }
}
