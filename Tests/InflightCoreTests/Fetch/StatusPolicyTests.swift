import Testing

@testable import InflightCore

@Suite("Status policy", .timeLimit(.minutes(10)))
struct StatusPolicyTests {
    private func error(_ status: Int, _ fields: HTTPFields = HTTPFields(), range: Bool = false) -> LoadError? {
        var request = ImageRequest("http://a.example/")
        if range { request.fields.append("Range", "bytes=0-9") }
        return StatusPolicy.error(for: ResponseHead(status: status, fields: fields), request: request, now: Self.now)
    }

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    private static let now = WallTime(secondsSince1970: 784_111_777)

    private func advice(_ retryAfter: String, _ status: Int = 503) -> String? {
        error(status, HTTPFields([("Retry-After", retryAfter)]))?.message
    }

    @Test("The statuses 200, 201, 203 and 226 are accepted", arguments: [200, 201, 203, 226])
    func good(status: Int) {
        #expect(error(status)?.code == nil)
    }

    @Test(
        "A status other than 200, 201, 203 and 226 fails with badStatus, and the error states it",
        arguments: [204, 205, 206, 300, 304, 305, 400, 401, 403, 404, 410, 418, 429, 500, 502, 503, 599, 600, 999])
    func bad(status: Int) {
        let error = error(status)
        #expect(error?.code == .badStatus)
        #expect(error?.status == status)
        #expect(error?.message.contains("\(status)") == true)
    }

    @Test("A 206 is accepted for a range request, a 204 is not")
    func part() {
        #expect(error(206, range: true)?.code == nil)
        #expect(error(204, range: true)?.code == .badStatus)
    }

    @Test("The message states a valid Retry-After, else advises a later retry", arguments: [408, 425, 429, 500, 503])
    func retryAfter(status: Int) {
        #expect(advice("17", status)?.hasSuffix("Try again in 17 s, as the server asks.") == true)
        #expect(advice("Sun, 06 Nov 1994 08:50:07 GMT", status)?.contains(" 30 s") == true)
        for soon in ["0", "Sun, 06 Nov 1994 08:49:07 GMT", "", "\u{1B}[2J"] {
            #expect(advice(soon, status)?.hasSuffix(". Try again later.") == true)
        }
    }
}
