import InflightCore
import Testing

@Suite("SHA-256", .timeLimit(.minutes(10)))
struct SHA256Tests {
    private func hex(_ text: String) -> String {
        var hash = SHA256()
        hash.append(text.utf8)
        return hash.hex
    }

    @Test("SHA-256 produces the known digests of the test vectors")
    func examples() {
        #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        #expect(
            hex(String(repeating: "a", count: 100_000))
                == "6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee")
    }

    @Test("SHA-256 produces the same digest however the input is split, at every length around a block")
    func pieces() {
        for count in 0...130 {
            let text = String(repeating: "x", count: count)
            var hash = SHA256()
            for byte in text.utf8 { hash.append([byte]) }
            #expect(hash.hex == hex(text))
        }
        let text = (0..<1000).map { String($0) }.joined()
        for length in [1, 37, 63, 64, 65, 127, 200, 5000] {
            var hash = SHA256()
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                // Not contiguous in memory.
                hash.append(rest.prefix(length).reversed().lazy.reversed())
                rest = rest.dropFirst(length)
            }
            #expect(hash.hex == hex(text))
        }
    }
}
