/// Both axes of a resize, and the size of the blocks that are averaged before the filter.
struct ResampleAxes {
    let horizontal: ResampleAxis
    let vertical: ResampleAxis
    let block: (x: Int, y: Int)

    init(
        sourceWidth: Int, sourceHeight: Int, plan: Resize.Plan, horizontalSiting: ResampleAxis.Siting = .direct,
        verticalSiting: ResampleAxis.Siting = .direct, pixelsPerSample: Int = 1, horizontalMultiple: Int
    ) {
        precondition(sourceWidth > 0 && sourceHeight > 0 && plan.width > 0 && plan.height > 0)
        block = (
            x: Self.block(count: sourceWidth, scaledCount: plan.scaledWidth),
            y: Self.block(count: sourceHeight, scaledCount: plan.scaledHeight)
        )
        horizontal = ResampleAxis.make(
            .init(
                sourceCount: (sourceWidth + block.x - 1) / block.x,
                siting: block.x == 1 ? horizontalSiting : .partial(length: Double(sourceWidth) / Double(block.x)),
                scaledCount: plan.scaledWidth, kept: plan.cropX..<plan.cropX + plan.width,
                pixelsPerSample: pixelsPerSample, alignment: 1, multiple: horizontalMultiple))
        vertical = ResampleAxis.make(
            .init(
                sourceCount: (sourceHeight + block.y - 1) / block.y,
                siting: block.y == 1 ? verticalSiting : .partial(length: Double(sourceHeight) / Double(block.y)),
                scaledCount: plan.scaledHeight, kept: plan.cropY..<plan.cropY + plan.height,
                pixelsPerSample: pixelsPerSample, alignment: 2, multiple: 2))
    }

    /// Returns the number of pixels to average before the filter. It leaves the filter at least eight samples per
    /// target sample, if there are as many, so that the loss of sharpness is invisible. The maximum keeps a sum within
    /// 32 bits.
    private static func block(count: Int, scaledCount: Int) -> Int {
        let reduction = count / scaledCount
        return reduction >= 16 ? min(reduction / 8, 1 << 16) : 1
    }
}
