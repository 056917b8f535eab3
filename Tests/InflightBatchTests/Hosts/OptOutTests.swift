import Testing

@testable import InflightBatch

@Suite("Opt-out header fields", .timeLimit(.minutes(2)))
struct OptOutTests {
    private func signal(
        _ fields: (String, String)..., honoring honored: Set<OptOut.Signal> = Set(OptOut.Signal.allCases)
    ) -> OptOut.Signal? {
        OptOut(honoring: honored, productToken: "Inflight").signal(in: fields.map { (name: $0.0, value: $0.1) })
    }

    @Test(
        "X-Robots-Tag opts out by directive, for all user agents or this one",
        arguments: [
            ("noai", .noai), ("NoImageAI", .noimageai), ("noindex", .noindex), ("noimageindex", .noimageindex),
            ("none", .noindex), ("nofollow, noai", .noai), (" noarchive ,\tnoai\t", .noai), ("all", nil), ("", nil),
            ("noais", nil), ("tdm-reservation", nil), ("inflight: noai", .noai), ("INFLIGHT : nofollow, noai", .noai),
            ("*: noai", .noai), ("otherbot: noai", nil), ("otherbot: nofollow, noai", nil),
            ("otherbot: noai, inflight: noindex", .noindex), ("inflight: nofollow, otherbot: noai", nil),
            ("noindex, otherbot: noai", .noindex), ("max-snippet: 20, noai", .noai),
            ("unavailable_after: Friday, 25 Jun 2010 15:00:00 PST, noai", .noai),
            ("otherbot: max-snippet: 1, noai", nil),
        ] as [(String, OptOut.Signal?)])
    func robotsTag(value: String, expected: OptOut.Signal?) {
        #expect(signal(("X-Robots-Tag", value)) == expected)
    }

    @Test("Each field line counts, and a user agent applies to its line only")
    func lines() {
        #expect(signal(("x-robots-tag", "otherbot: nofollow"), ("X-ROBOTS-TAG", "noai")) == .noai)
        #expect(signal(("content-type", "noai"), ("robots", "noai")) == nil)
    }

    @Test(
        "TDMRep opts out with the value 1",
        arguments: [
            ("1", true), (" 1 ", true), ("0, 1", true), ("0", false), ("11", false), ("true", false), ("", false),
        ])
    func reservation(value: String, isReserved: Bool) {
        #expect(signal(("TDM-Reservation", value)) == (isReserved ? .tdmReservation : nil))
    }

    @Test("Only the signals of the policy count")
    func policy() {
        let fields = [(name: "X-Robots-Tag", value: "noai, noindex"), (name: "tdm-reservation", value: "1")]
        func first(_ honored: Set<OptOut.Signal>) -> OptOut.Signal? {
            OptOut(honoring: honored, productToken: "inflight").signal(in: fields)
        }
        #expect(first([.noindex]) == .noindex)
        #expect(first([.tdmReservation]) == .tdmReservation)
        #expect(first([.noimageai]) == nil)
        #expect(first([]) == nil)
        #expect(signal(("x-robots-tag", "none"), honoring: [.noai]) == nil)
    }
}
