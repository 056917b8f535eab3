import Testing

@testable import InflightCore

@Suite("The policy of statuses", .timeLimit(.minutes(1)))
struct StatusPolicyTests {
    private func error(_ status: Int, _ fields: HTTPFields = HTTPFields(), range: Bool = false) -> LoadError? {
        var request = ImageRequest("http://a.example/")
        if range { request.fields.append("Range", "bytes=0-9") }
        return StatusPolicy.error(for: ResponseHead(status: status, fields: fields), request: request)
    }

    @Test("lets pass what is good", arguments: [200, 201, 203, 226])
    func good(status: Int) {
        #expect(error(status)?.code == nil)
    }

    @Test(
        "refuses everything else, with the status",
        arguments: [204, 205, 206, 300, 304, 305, 400, 401, 403, 404, 410, 418, 429, 500, 502, 503, 599, 600, 999])
    func bad(status: Int) {
        let error = error(status)
        #expect(error?.code == .badStatus)
        #expect(error?.status == status)
        #expect(error?.message.contains("\(status)") == true)
    }

    @Test("lets a part pass where a part was asked for")
    func part() {
        #expect(error(206, range: true)?.code == nil)
        #expect(error(204, range: true)?.code == .badStatus)
    }

    @Test("tells how long a server asks to wait, where that is a number")
    func retryAfter() {
        #expect(error(503, HTTPFields([("Retry-After", "17")]))?.message.contains("17 s") == true)
        #expect(error(429, HTTPFields([("Retry-After", "\u{1B}[2J")]))?.message.contains("\u{1B}") == false)
    }
}
