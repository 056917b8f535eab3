import InflightCore

extension DecodeOptions {
    /// What has to be done to the pixels as they are stored.
    ///
    /// Throws where enlarging would make more pixels than are allowed.
    func storedPlan(for info: ImageInfo) throws(LoadError) -> Resize.Plan {
        let whole = Resize.Plan(
            scaledWidth: info.width, scaledHeight: info.height, width: info.width, height: info.height)
        let plan = resize?.plan(sourceWidth: info.width, sourceHeight: info.height) ?? whole
        let (product, overflow) = plan.width.multipliedReportingOverflow(by: plan.height)
        let maximum = min(maximumPixels, ImageInfo.mostPixels)
        guard !overflow, product <= maximum else {
            throw LoadError(
                .tooManyPixels, stage: .decode,
                message: "Enlarged to \(plan.width) × \(plan.height) the picture would have more than the "
                    + "\(maximum) pixels that are allowed. Ask for a smaller size.")
        }
        return plan.stored(for: info.orientation)
    }
}
