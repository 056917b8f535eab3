import InflightCore
import InflightTestSupport

/// What most end-to-end tests begin with: a folder to run the command in, and a server that has a picture.
class EndToEndSuite {
    let place = TemporaryDirectory()
    let server: LoopbackServer
    /// 60 × 40 pixels, at `/good.jpg`.
    let jpeg: Bytes

    init() throws {
        server = try LoopbackServer()
        jpeg = try Pictures.make(.jpeg, 60, 40)
        server.serve("/good.jpg", .ok(jpeg, type: "image/jpeg"))
    }
}
