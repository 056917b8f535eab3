import InflightCore
import InflightTestSupport

/// The base of most end-to-end tests: a folder to run the command in, and a server with an image.
class EndToEndSuite {
    let place = TemporaryDirectory()
    let server: LoopbackServer
    /// 60 × 40 pixels, at `/good.jpg`.
    let jpeg: Bytes

    init() throws {
        server = try LoopbackServer()
        jpeg = try TestImages.make(.jpeg, 60, 40)
        server.serve("/good.jpg", .ok(jpeg, type: "image/jpeg"))
    }
}
