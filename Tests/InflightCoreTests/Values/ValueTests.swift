import InflightConcurrency
import InflightCore
import Testing

@Suite("Small value types", .timeLimit(.minutes(10)))
struct ValueTests {
    @Test(
        "RFC 4648 10: Base64 encodes and decodes the test vectors",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func base64(plain: String, encoded: String) {
        #expect(Base64.encoded(Array(plain.utf8)) == encoded)
        #expect(Base64.decoded(Array(encoded.utf8)) == Array(plain.utf8))
    }

    @Test("Base64 round-trips every byte value")
    func allBytes() {
        let bytes = (0...255).map { UInt8($0) }
        #expect(Base64.decoded(Array(Base64.encoded(bytes).utf8)) == bytes)
    }

    @Test("Base64 refuses malformed input", arguments: ["A", "AAAAA", "A*==", "AA=", "AA===", "AA==AA==", "===="])
    func noBase64(text: String) {
        #expect(Base64.decoded(Array(text.utf8)) == nil)
    }

    @Test("Bytes compare by content and release adopted memory once")
    func bytes() {
        #expect(Bytes("abc") == Bytes([0x61, 0x62, 0x63]))
        #expect(Bytes("abc") != Bytes("abd"))
        #expect(Bytes("abc") != Bytes("ab"))
        #expect(Bytes.empty == Bytes(""))
        #expect(Bytes("abc")[2] == 0x63)
        let released = Counter()
        do {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 1)
            unsafe memory.copyBytes(from: [1, 2, 3])
            let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(memory)) { memory in
                unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
                released.add()
            }
            let copy = bytes
            #expect(copy.array == [1, 2, 3])
            #expect(released.count == 0)
        }
        #expect(released.count == 1)
    }

    @Test("Header fields ignore case in names and keep their order and duplicates")
    func fields() {
        var fields = HTTPFields([("Accept", "a"), ("X-A", "1"), ("ACCEPT", "b")])
        #expect(fields.count == 3)
        #expect(fields["accept"] == "a")
        #expect(fields.values("Accept") == ["a", "b"])
        #expect(fields.description == "Accept: a\nX-A: 1\nACCEPT: b")
        fields.set("aCCept", "c")
        #expect(fields.description == "X-A: 1\naCCept: c")
        fields.remove("missing")
        fields.remove("x-a")
        #expect(fields.values("accept") == ["c"])
        #expect(!fields.contains("x-a"))
        #expect(fields["x-a"] == nil)
        #expect(fields.wireSize == "aCCept: c\r\n".utf8.count)
    }

    @Test("Header fields that are not UTF-8 are read as Latin-1 and keep their bytes")
    func latin() {
        var fields = HTTPFields()
        fields.append(name: Array("X".utf8), value: [0xFC, 0x62])
        #expect(fields["x"] == "üb")
        #expect(Array(fields.rawValue(0)) == [0xFC, 0x62])
    }

    @Test("Header fields appended as raw bytes equal those appended as strings, empty values included")
    func written() {
        let added: [(name: String, value: String)] = [("A", "1"), ("Empty", ""), ("a", "22"), ("B", "3")]
        var fields = HTTPFields()
        fields.reserve(bytes: 3, lines: 1)
        for field in added {
            unsafe Array(field.name.utf8).withUnsafeBufferPointer { name in
                unsafe Array(field.value.utf8).withUnsafeBufferPointer { value in
                    unsafe fields.append(rawName: name, rawValue: value)
                }
            }
        }
        #expect(fields == HTTPFields(added))
        #expect(fields.count == 4)
        #expect((0..<4).map { fields.name($0) } == ["A", "Empty", "a", "B"])
        #expect((0..<4).map { fields.value($0) } == ["1", "", "22", "3"])
        #expect(fields.values("a") == ["1", "22"])
        #expect(fields["empty"] == "")
    }

    @Test("Header fields are unequal if the same text is split differently into name and value")
    func cuts() {
        #expect(HTTPFields([("ab", "c")]) != HTTPFields([("a", "bc")]))
        #expect(HTTPFields([("a", "b")]) == HTTPFields([("a", "b")]))
    }

    @Test("An error takes a URL only if it has none yet")
    func about() {
        let error = LoadError(.badStatus, stage: .fetch, message: "No.", status: 404)
        #expect(error.about(url: "a").url == "a")
        #expect(error.about(url: "a").about(url: "b").url == "a")
        #expect(error.about(url: "a").status == 404)
    }

    @Test("An error shows the content type and coding without control characters, up to a length limit")
    func contentType() {
        let error = LoadError(.notAnImage, stage: .decode, message: "No picture.")
        for name in ["Content-Type", "Content-Encoding"] {
            func message(_ value: String) -> String {
                error.naming(ResponseHead(status: 200, fields: HTTPFields([(name, value)]))).message
            }
            let shown = message("text/\u{1B}[2Jhtml\u{9B}2J\u{7F}")
            #expect(shown.contains("text/[2Jhtml2J"))
            #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
            #expect(message(String(repeating: "x", count: 500)).count < 200)
        }
        #expect(error.naming(nil).message == "No picture.")
        #expect(error.naming(ResponseHead(status: 200, version: .none)).message == "No picture.")
    }

    @Test(
        "An error about an invalid URL shows no password and no control character",
        arguments: [
            "https://user:secret@exa mple.org/", "http://user:se/secret@a.example/", "user:secret@a.example/x",
            "me:secret@a.example//x@y", "http://u:secret@a.example\\x", "http://u:secret@a.example/\u{1B}[2J",
            "http://u:secret@a.example/\u{9B}2J\n", "http://u:secret@[a/",
        ])
    func shownText(text: String) {
        #expect {
            _ = try ResourceURL(text)
        } throws: { error in
            let shown = String(describing: error)
            return (error as? LoadError)?.code == .invalidURL && !shown.contains("secret")
                && !shown.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
    }

    @Test(
        "A backslash after the host is refused, because parsers disagree on the host",
        arguments: ["http://a.example\\@b.example/", "http://a.example\\b", "https://a.example\\/x"])
    func backslash(text: String) {
        #expect(throws: LoadError.self) { try ResourceURL(text) }
    }
}
