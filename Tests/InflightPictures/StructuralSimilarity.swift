import Glibc

/// The structural similarity of two images, 1 if nothing differs (Wang, Bovik, Sheikh and Simoncelli, "Image quality
/// assessment: from error visibility to structural similarity", IEEE Transactions on Image Processing 13(4), 2004).
///
/// As in the article's section III: means, variances and covariance in a Gaussian window of 11 × 11 with a standard
/// deviation of 1.5, `K1` 0.01, `K2` 0.03, averaged over all positions at which the window lies inside.
package enum StructuralSimilarity {
    private static let side = 11
    private static let window: [Double] = {
        let row = (0..<side).map { exp(-Double(($0 - side / 2) * ($0 - side / 2)) / (2 * 1.5 * 1.5)) }
        let sum = row.reduce(0, +)
        return row.flatMap { y in row.map { x in x * y / (sum * sum) } }
    }()

    /// - Parameters:
    ///   - left: Samples from 0 to 255, row by row.
    ///   - right: The same number of samples.
    package static func mean(_ left: [Double], _ right: [Double], width: Int) -> Double {
        let height = left.count / width
        precondition(left.count == right.count && width >= side && height >= side)
        var sum = 0.0
        for y in 0...height - side {
            for x in 0...width - side { sum += value(left, right, width, x, y) }
        }
        return sum / Double((width - side + 1) * (height - side + 1))
    }

    private static func value(_ left: [Double], _ right: [Double], _ width: Int, _ x: Int, _ y: Int) -> Double {
        var (meanL, meanR, squaresL, squaresR, products) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for row in 0..<side {
            for column in 0..<side {
                let weight = window[row * side + column]
                let l = left[(y + row) * width + x + column]
                let r = right[(y + row) * width + x + column]
                meanL += weight * l
                meanR += weight * r
                squaresL += weight * l * l
                squaresR += weight * r * r
                products += weight * l * r
            }
        }
        let c1 = (0.01 * 255) * (0.01 * 255)
        let c2 = (0.03 * 255) * (0.03 * 255)
        let varianceL = squaresL - meanL * meanL
        let varianceR = squaresR - meanR * meanR
        let covariance = products - meanL * meanR
        return (2 * meanL * meanR + c1) * (2 * covariance + c2)
            / ((meanL * meanL + meanR * meanR + c1) * (varianceL + varianceR + c2))
    }
}
