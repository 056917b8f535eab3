import Inflight
import InflightTestSupport

/// Pictures that say their row's number: a bit in each of 16 squares, from the top left. A square is red or green; blue is
/// the same in all, and in nothing else.
enum RowPictures {
    static let side = 64

    static func pixels(_ row: Int) -> PixelBuffer {
        var bytes = [UInt8]()
        bytes.reserveCapacity(side * side * 4)
        for y in 0..<side {
            for x in 0..<side {
                let bit = row >> (y / 16 * 4 + x / 16) & 1 == 1
                bytes += bit ? [220, 30, 200, 255] : [30, 220, 200, 255]
            }
        }
        return PixelBuffer(width: side, height: side, bytesPerRow: side * 4, format: .rgbx, bytes: Bytes(bytes))
    }

    static func png(_ row: Int) -> Bytes {
        // Pixels of ours are a valid picture.
        try! ImagePipeline.Configuration().codecs.encode(pixels(row), options: EncodeOptions(format: .png))
    }

    enum Seen: Hashable {
        case row(Int)
        /// Nothing but one colour.
        case placeholder
        /// Something that is no row's whole picture.
        case other
    }

    /// What one cell shows, by the middles of its squares.
    /// - Parameter pixel: gives (red, green, blue) at a place in the cell.
    static func read(_ pixel: (_ x: Int, _ y: Int) -> (Int, Int, Int)?) -> Seen {
        var row = 0, blanks = 0
        for square in 0..<16 {
            guard let (red, green, _) = pixel(square % 4 * 16 + 8, square / 4 * 16 + 8) else { return .other }
            // While a picture appears, its colours are weak and on the right side already.
            if abs(red - green) < 12 {
                blanks += 1
            } else if red > green {
                row |= 1 << square
            }
        }
        if blanks == 16 { return .placeholder }
        return blanks == 0 ? .row(row) : .other
    }

    /// A server of rows: `/row/N`, each after a while that depends on the row and on how often it was asked for.
    static func server(slowest: Int, failing: Bool = false) throws -> LoopbackServer {
        let server = try LoopbackServer()
        let random = Guarded(SeededGenerator(seed: 7))
        server.serveOthers { request in
            guard let row = request.path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
            let dice = random.withLock { random in
                (wait: Int.random(in: 0...slowest, using: &random), fails: Int.random(in: 0..<40, using: &random) == 0)
            }
            if failing && dice.fails { return .status(503) }
            let answer = LoopbackServer.Response.ok(png(row), type: "image/png").field("Cache-Control", "no-store")
            return dice.wait == 0 ? answer : answer.delayed(.milliseconds(dice.wait))
        }
        return server
    }
}
