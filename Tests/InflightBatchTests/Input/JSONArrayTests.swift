import Testing

@testable import InflightBatch

@Suite("Input: JSON arrays", .timeLimit(.minutes(10)))
struct JSONArrayTests {
    @Test(
        "The elements of an array are rows, however it is written",
        arguments: [
            #"[{"url":"a"},{"url":"b","n":[1,{"x":"]"}]}]"#,
            "[\n {\n  \"url\": \"a\",\n  \"t\": \"x\"\n },\r\n {\n  \"url\": \"b\"\n }\n]\n",
            " \n\t[ {\"url\":\"a\"} , {\"url\":\"b\"} , ] \n", "\u{FEFF}[{\"url\":\"a\"}\n{\"url\":\"b\"}]",
            "[{\"url\":\"a\"}][{\"url\":\"b\"}]", "[{\"url\":\"a\"}]\n{\"url\":\"b\"}\n",
            "{\"url\":\"a\"}\n{\"url\":\"b\"}\n",
        ])
    func elements(text: String) {
        let result = reading(text, .json)
        #expect(result.urls == ["a", "b"] && result.rejects.isEmpty && result.error == nil)
        #expect(result.rows.map(\.number) == [0, 1])
    }

    @Test("Rows and faults have the line on which they are")
    func lines() {
        let text = "[\n {\"url\": \"a\"},\n\n {\n  \"url\": \"b\",\n  \"x\": NaN},\n {\"url\": \"c\"}]"
        let result = reading(text, .json)
        #expect(result.rows.map(\.line) == [2, 7])
        let reason = InputReject.Reason.malformedJSON(.unexpectedByte, line: 6, column: 8)
        #expect(result.rejects == [.init(number: 1, line: 4, reason: reason)])
        #expect(
            result.reasons.first?.description == "Malformed JSON at column 8 of line 6: unexpected character.")
    }

    @Test("Lines are counted once, although a malformed element is scanned again from within")
    func linesBehindMalformed() {
        let text = "[\n{\"a\": \"x},{\"\n  \"url\": \"y\"},\n{\"url\": \"c\"}\n]\n"
        let result = reading(text, .json)
        #expect(result.urls == ["c"] && result.rows.map(\.line) == [4])
        #expect(result.rejects.map(\.line) == [2, 2])
    }

    @Test(
        "A malformed element is rejected, and the elements around it are read",
        arguments: [
            #"{"url":"x","n":NaN}"#, #"{"url":"x",}"#, #"{'url':'x'}"#, #"{"url" "x"}"#, #"12"#, #""http://h""#, "null",
            #"["x"]"#, #"{"url":"x","t":"he said "so" and left"}"#, #"{"url":"x","t":"no end}"#, #"{"url":"x""#,
            #"{"url":"x","a":[1}"#, #"{"url":"x","a":[{"b":2}}"#, "{\"url\":\"x\",\"t\":\"two\nlines\"}", #"{"t":"x"}"#,
            #"{"url":"x","t":"\"}"#, String(repeating: "[", count: 100), String(repeating: "{\"a\":", count: 100_000),
            String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000),
        ])
    func malformed(element: String) {
        for separator in [",", ",\n", " ,\n "] {
            let ok = (0..<3).map { "{\"url\":\"\($0)\"}" }
            let text = "[" + [ok[0], element, ok[1], ok[2]].joined(separator: separator) + "]\n"
            let result = text.utf8.count < 1000 ? reading(text, .json) : reading([Array(text.utf8)[...]], .json)
            let first = element.hasSuffix("[") || element.hasSuffix(":") ? 2 : 1
            // An element that has no end takes the next one with it if nothing shows where that begins.
            #expect(result.urls == ["0"] + (first...2).map(String.init), "\(element)")
            #expect(result.rejects.first?.number == 1 && result.rejects.count == 1, "\(element): \(result.rejects)")
        }
    }

    @Test("An array that is never closed is a reject behind its rows")
    func unclosed() {
        for (text, reason) in [
            (#"[{"url":"a"}"#, InputReject.Reason.unclosedArray), (#"[{"url":"a"},"#, .unclosedArray),
            (#"[{"url":"a"},{"url":"http"#, .malformedJSON(.unexpectedEnd, column: 13)),
        ] {
            let result = reading(text, .json)
            #expect(result.urls == ["a"] && result.reasons == [reason] && result.error == nil)
        }
        #expect(reading("[", .json).reasons == [.unclosedArray])
        for text in ["[]", " [ ] \n", "[,]"] { #expect(reading(text, .json).error == .empty(header: false)) }
    }

    @Test("An element beyond the limit is rejected, takes no memory, and the next ones are read")
    func longElement() throws {
        let options = inputOptions { $0.rowLimit = 1000 }
        var reader = RowReader(format: .json, options: options)
        var results: [RowReader.Result] = []
        func append(_ text: String) throws {
            reader.append(Array(text.utf8)[...])
            while let result = try reader.next() { results.append(result) }
        }
        try append(#"[{"url":"a"},{"url":"x","list":["#)
        for _ in 0..<10_000 { try append(#"{"]":"some text, and }"},"#) }
        try append(#"0]},{"url":"b"}]"#)
        reader.end()
        #expect(try reader.next() == nil)
        #expect(results.count == 3 && results[1] == .reject(.init(number: 1, line: 1, reason: .tooLong(limit: 1000))))
        guard case .row(let last) = results.last else { return #expect(Bool(false), "no row") }
        #expect(last.url == "b")
    }

    @Test("An element is returned before the array ends")
    func streaming() throws {
        var reader = RowReader(format: .json, options: .init())
        reader.append(Array(#"[{"url":"http://a.example"},{"url""#.utf8)[...])
        guard case .row(let row) = try reader.next() else { return #expect(Bool(false), "no row") }
        #expect(try row.url == "http://a.example" && reader.next() == nil)
    }

    @Test("Random arrays give the same results however they are cut", arguments: 0..<200)
    func randomBytes(seed: UInt64) {
        var random = Generator(state: seed)
        let pieces = ["{\"url\":\"a\"}", "{", "}", "[", "]", ",", "\"", ":", "\\", "\n", " ", "url", "1", "\"url\":"]
        let text = "[" + (0..<30).map { _ in pieces[random.below(pieces.count)] }.joined()
        let result = reading(text, .json, inputOptions { $0.rowLimit = 1 + random.below(40) })
        #expect(result.error == nil || result.error == .empty(header: false))
    }
}
