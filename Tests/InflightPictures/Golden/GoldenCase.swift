/// A file, its reference pixels, and the minimum similarity to them.
package struct GoldenCase: Sendable, CustomStringConvertible {
    package var name: String
    package var bytes: [UInt8]
    package var decibels: Double
    package var similarity: Double
    package var reference: @Sendable (Int, Int) -> SIMD4<Double>

    package var description: String { name }

    package init(
        name: String, bytes: [UInt8], decibels: Double, similarity: Double,
        reference: @escaping @Sendable (Int, Int) -> SIMD4<Double>
    ) {
        self.name = name
        self.bytes = bytes
        self.decibels = decibels
        self.similarity = similarity
        self.reference = reference
    }
}
