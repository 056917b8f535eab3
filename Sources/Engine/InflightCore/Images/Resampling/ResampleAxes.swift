/// Both axes of a resize, with the blocks of pixels that are averaged before its filter is applied.
struct ResampleAxes {
    let horizontal: ResampleAxis
    let vertical: ResampleAxis
    let block: (x: Int, y: Int)

    init(
        sourceWidth: Int, sourceHeight: Int, plan: Resize.Plan, horizontalSiting: ResampleAxis.Siting = .direct,
        verticalSiting: ResampleAxis.Siting = .direct, horizontalMultiple: Int
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
                scaledCount: plan.scaledWidth, kept: plan.cropX..<plan.cropX + plan.width, alignment: 1,
                multiple: horizontalMultiple))
        vertical = ResampleAxis.make(
            .init(
                sourceCount: (sourceHeight + block.y - 1) / block.y,
                siting: block.y == 1 ? verticalSiting : .partial(length: Double(sourceHeight) / Double(block.y)),
                scaledCount: plan.scaledHeight, kept: plan.cropY..<plan.cropY + plan.height, alignment: 2,
                multiple: 2))
    }

    /// How many pixels are averaged before the filter is applied, so that it always has eight samples or more for each
    /// target sample where they are there: what such a block loses in sharpness cannot be seen. No more than what a sum
    /// of 32 bits holds.
    private static func block(count: Int, scaledCount: Int) -> Int {
        let reduction = count / scaledCount
        return reduction >= 16 ? min(reduction / 8, 1 << 16) : 1
    }
}
