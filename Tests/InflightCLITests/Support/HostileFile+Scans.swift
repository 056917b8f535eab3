import InflightPictures

/// Hand-made progressive JPEGs (ITU-T T.81 annexes B and G) whose coefficients are all zero.
extension HostileFile {
    /// Three components without subsampling, complete in a single scan with one bit per block.
    static func zeroCoefficients(blocks: Int) -> [UInt8] {
        let scan = scan([1, 2, 3], 0, 0, 0, 0) + [UInt8](repeating: 0, count: (3 * blocks * blocks + 7) / 8)
        return jpeg(side: 8 * blocks, components: [1, 2, 3]) + scan + [0xFF, 0xD9]
    }

    /// One component of 64 blocks whose coefficients arrive bit by bit, each bit in its own scan: 883 scans, all of
    /// which are valid according to the standard.
    static let manyScans: [UInt8] = {
        var file = jpeg(side: 64, components: [1]) + scan([1], 0, 0, 0, 0) + [UInt8](repeating: 0, count: 8)
        for coefficient in 1...63 {
            for low in (0...13).reversed() {
                // An end-of-band run of 64 blocks: one bit for the code, and six that add nothing.
                file += scan([1], coefficient, coefficient, low == 13 ? 0 : low + 1, low) + [0x01]
            }
        }
        return file + [0xFF, 0xD9]
    }()

    private static func jpeg(side: Int, components: [Int]) -> [UInt8] {
        let quantization = [0] + [UInt8](repeating: 1, count: 64)
        let frame =
            [8] + Pieces.big16(side) + Pieces.big16(side) + [UInt8(components.count)]
            + components.flatMap { [UInt8($0), 0x11, 0] }
        // One code of one bit in each table: no difference, and the end of 64 blocks.
        let lengths: [UInt8] = [1] + [UInt8](repeating: 0, count: 15)
        return [0xFF, 0xD8] + segment(0xDB, quantization) + segment(0xC2, frame)
            + segment(0xC4, [0x00] + lengths + [0x00]) + segment(0xC4, [0x10] + lengths + [0x60])
    }

    private static func scan(_ components: [Int], _ first: Int, _ last: Int, _ high: Int, _ low: Int) -> [UInt8] {
        segment(
            0xDA,
            [UInt8(components.count)] + components.flatMap { [UInt8($0), 0] }
                + [UInt8(first), UInt8(last), UInt8(high << 4 | low)])
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker] + Pieces.big16(content.count + 2) + content
    }
}
