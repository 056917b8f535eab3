import InflightCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AddressPolicyTests {
    private func v6(_ groups: Int...) throws -> IPAddress {
        try #require(IPAddress(bytes: groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }))
    }

    @Test("The publicOnly policy refuses exactly the IPv4 ranges that are not globally reachable")
    func ipv4() throws {
        let cases: [(refused: [[UInt8]], allowed: [[UInt8]])] = [
            ([[0, 0, 0, 0], [0, 255, 255, 255]], [[1, 0, 0, 0]]),
            ([[10, 0, 0, 0], [10, 255, 255, 255]], [[9, 255, 255, 255], [11, 0, 0, 0]]),
            ([[100, 64, 0, 0], [100, 127, 255, 255]], [[100, 63, 255, 255], [100, 128, 0, 0]]),
            ([[127, 0, 0, 1], [127, 255, 255, 255]], [[126, 255, 255, 255], [128, 0, 0, 0]]),
            ([[169, 254, 169, 254]], [[169, 253, 0, 1], [169, 255, 0, 1]]),
            ([[172, 16, 0, 0], [172, 31, 255, 255]], [[172, 15, 255, 255], [172, 32, 0, 0]]),
            (
                [[192, 0, 0, 1], [192, 0, 2, 1], [192, 88, 99, 1], [192, 168, 255, 255]],
                [[192, 0, 1, 1], [192, 169, 0, 0]]
            ),
            ([[198, 18, 0, 0], [198, 19, 255, 255], [198, 51, 100, 1], [203, 0, 113, 1]], [[198, 20, 0, 0]]),
            (
                [[224, 0, 0, 1], [239, 255, 255, 255], [240, 0, 0, 1], [255, 255, 255, 255]], [[223, 255, 255, 255]]
            ),
        ]
        for (refused, allowed) in cases {
            for bytes in refused { #expect(!AddressPolicy.publicOnly.allows(try #require(IPAddress(bytes: bytes)))) }
            for bytes in allowed { #expect(AddressPolicy.publicOnly.allows(try #require(IPAddress(bytes: bytes)))) }
        }
    }

    @Test("The publicOnly policy allows global unicast IPv6 and judges embedded IPv4 addresses as such")
    func ipv6() throws {
        let refused = [
            try v6(0, 0, 0, 0, 0, 0, 0, 0), try v6(0, 0, 0, 0, 0, 0, 0, 1), try v6(0, 0, 0, 0, 0, 0, 0x0808, 0x0808),
            try v6(0, 0, 0, 0, 0, 0xFFFF, 0x7F00, 1), try v6(0, 0, 0, 0, 0, 0xFFFF, 0x0A00, 1),
            try v6(0x64, 0xFF9B, 0, 0, 0, 0, 0xA9FE, 0xA9FE), try v6(0x64, 0xFF9B, 1, 0, 0, 0, 0x0808, 0x0808),
            try v6(0x2002, 0x7F00, 1, 0, 0, 0, 0, 1), try v6(0x2001, 0, 0, 0, 0, 0, 0, 1),
            try v6(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1), try v6(0x3FFF, 0, 0, 0, 0, 0, 0, 1),
            try v6(0xFC00, 0, 0, 0, 0, 0, 0, 1), try v6(0xFD12, 0, 0, 0, 0, 0, 0, 1),
            try v6(0xFE80, 0, 0, 0, 0, 0, 0, 1), try v6(0xFEC0, 0, 0, 0, 0, 0, 0, 1),
            try v6(0xFF02, 0, 0, 0, 0, 0, 0, 1),
        ]
        let allowed = [
            try v6(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111), try v6(0x2A00, 0, 0, 0, 0, 0, 0, 1),
            try v6(0, 0, 0, 0, 0, 0xFFFF, 0x0808, 0x0808), try v6(0x64, 0xFF9B, 0, 0, 0, 0, 0x0808, 0x0808),
            try v6(0x2002, 0x0808, 0x0808, 0, 0, 0, 0, 1), try v6(0x2001, 0x0200, 0, 0, 0, 0, 0, 1),
        ]
        for address in refused { #expect(!AddressPolicy.publicOnly.allows(address), "\(address)") }
        for address in allowed { #expect(AddressPolicy.publicOnly.allows(address), "\(address)") }
        #expect(AddressPolicy.any.allows(refused[1]))
        #expect(IPAddress(bytes: [1, 2, 3]) == nil)
    }
}
