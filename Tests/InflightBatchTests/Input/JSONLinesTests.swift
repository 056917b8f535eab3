import Testing

@testable import InflightBatch

@Suite("Input: JSON Lines", .timeLimit(.minutes(10)))
struct JSONLinesTests {
    private func problem(_ line: String, location: SourceLocation = #_sourceLocation) -> InputReject.Reason? {
        let result = reading(line + "\n{\"url\":\"next\"}\n", .jsonLines, location: location)
        #expect(result.urls.last == "next", sourceLocation: location)
        return result.reasons.first
    }

    @Test("The URL, identifier and caption are decoded, and other members keep their bytes and order")
    func members() {
        let options = inputOptions { ($0.idColumn, $0.captionColumn) = ("id", "c") }
        let line =
            #" {"z" : {"a":[1, 2.50e+3]} ,"url":"http:\/\/a\u002Fb","#
            + #""c":"\ud83d\ude00 \"x\"\nü","id":"k","s":"\u00e9 é","n":null}"#
        let result = reading(line + "\r\n", .jsonLines, options)
        let row = result.rows.first
        #expect(row?.url == "http://a/b")
        #expect(row?.caption == "😀 \"x\"\nü")
        #expect(row?.id == "k")
        #expect(
            row?.columns == [
                .init(name: "z", value: .json(Array(#"{"a":[1, 2.50e+3]}"#.utf8))),
                .init(name: "s", value: .json(Array(#""\u00e9 é""#.utf8))),
                .init(name: "n", value: .json(Array("null".utf8))),
            ])
    }

    @Test("All escapes are decoded")
    func escapes() {
        let result = reading(#"{"url":"\"\\\/\b\f\n\r\t\u0041\uD83D\uDE00x\u00DF"}"#, .jsonLines)
        #expect(result.urls == ["\"\\/\u{8}\u{C}\n\r\tA😀xß"])
    }

    @Test("Member names are compared without escapes")
    func escapedName() {
        #expect(reading(#"{"\u0075rl":"u"}"#, .jsonLines).urls == ["u"])
    }

    @Test("An identifier may be a string, a number as it is written, or null")
    func id() {
        let options = inputOptions { $0.idColumn = "id" }
        let lines = ["\"7\"", "7", "-1.50e3", "null"].map { "{\"url\":\"u\",\"id\":\($0)}\n" }.joined()
        #expect(reading(lines, .jsonLines, options).rows.map(\.id) == ["7", "7", "-1.50e3", nil])
        #expect(reading("{\"url\":\"u\"}", .jsonLines, options).rows.map(\.id) == [nil])
        let reason = InputReject.Reason.idNotAStringOrNumber(member: "id")
        #expect(reading("{\"url\":\"u\",\"id\":[7]}", .jsonLines, options).reasons == [reason])
        #expect(reading("{\"url\":\"u\",\"id\":true}", .jsonLines, options).reasons == [reason])
    }

    @Test("A caption that is not a string is its JSON text, null is none")
    func caption() {
        let options = inputOptions { $0.captionColumn = "c" }
        let values = ["null", "1.50", #"["a", "b"]"#, "true", #""""#]
        let result = reading(values.map { "{\"url\":\"u\",\"c\": \($0) }\n" }.joined(), .jsonLines, options)
        #expect(result.rows.map(\.caption) == [nil, "1.50", #"["a", "b"]"#, "true", ""])
    }

    @Test("A missing URL, or one that is not a string, is rejected; null and white space are rows without one")
    func url() {
        #expect(problem("{}") == .missingURL(member: "url"))
        #expect(problem(#"{"URL":"u","a":{"url":"v"}}"#) == .missingURL(member: "url"))
        for value in ["1", "[\"u\"]", "{}", "true"] {
            #expect(problem("{\"url\":\(value)}") == .urlNotAString(member: "url"))
        }
        #expect(reading(#"{"url":" "}"# + "\n" + #"{"url":null}"#, .jsonLines).urls == ["", ""])
        #expect(reading(#"{"url":" \n u\t "}"#, .jsonLines).urls == ["u"])
    }

    @Test("Two members of one name are rejected")
    func duplicate() {
        #expect(problem(#"{"url":"u","\u0075rl":"v"}"#) == .duplicateMember("url"))
        #expect(problem(#"{"url":"u","a":1,"b":{"a":1},"a":2}"#) == .duplicateMember("a"))
    }

    @Test("A value that is not an object is rejected", arguments: ["[]", "\"u\"", "12", "null", "[{\"url\":\"u\"}]"])
    func notAnObject(line: String) {
        #expect(problem(line) == .notAnObject)
    }

    @Test(
        "Valid values pass through",
        arguments: [
            "0", "-0", "10", "-1.5", "1e5", "1E+5", "1.0e-07", "true", "false", "null", "\"\"", "[]", "{}", "[ ]",
            "{ }",
            "[1,[2],{\"a\":[]}]", "{\"a\":1,\"a\":2}", "\"\\ud83d\\ude00\"", "\"\u{7F}\"",
        ])
    func validValue(value: String) {
        let result = reading("{\"url\":\"u\",\"v\": \(value) }", .jsonLines)
        #expect(result.rows.first?.columns == [.init(name: "v", value: .json(Array(value.utf8)))])
    }

    @Test(
        "Malformed values are rejected with the position",
        arguments: [
            ("01", .invalidNumber, 15), ("-", .invalidNumber, 15), ("1.", .invalidNumber, 16),
            (".5", .unexpectedByte, 14),
            ("1e", .invalidNumber, 16), ("+1", .unexpectedByte, 14), ("00", .invalidNumber, 15),
            ("NaN", .unexpectedByte, 14), ("nul", .unexpectedByte, 17), ("truee", .unexpectedByte, 18),
            ("'a'", .unexpectedByte, 14), ("\"\\x\"", .invalidEscape, 16), ("\"\\u12g4\"", .invalidEscape, 19),
            ("\"\\ud83d\"", .unpairedSurrogate, 15), ("\"\\ude00\"", .unpairedSurrogate, 15),
            ("\"\\ude00\\ude00\"", .unpairedSurrogate, 15),
            ("\"\\ud83dx\"", .unpairedSurrogate, 15), ("\"\\ud83d\\u0041\"", .unpairedSurrogate, 15),
            ("\"a\tb\"", .controlCharacter, 16), ("[1,]", .unexpectedByte, 17), ("[1 2]", .unexpectedByte, 17),
            ("{\"a\"}", .unexpectedByte, 18), ("{a:1}", .unexpectedByte, 15), ("{\"a\":1,}", .unexpectedByte, 21),
            ("[1}", .unexpectedByte, 16), ("", .unexpectedByte, 14),
        ] as [(String, JSONProblem, Int)])
    func malformedValue(value: String, problem expected: JSONProblem, column: Int) {
        #expect(problem("{\"url\":1,\"v\":\(value)}") == .malformedJSON(expected, column: column))
    }

    @Test("A truncated object is rejected at each length")
    func truncated() {
        let line = #"{"url":"a\u00e9","b":[1,{"c":null}],"d":-1.5e3}"#
        for count in 1..<line.utf8.count {
            let reason = reading([Array(line.utf8.prefix(count))[...]], .jsonLines).reasons.first
            #expect(reason == .malformedJSON(.unexpectedEnd, column: count + 1))
        }
        #expect(reading(line, .jsonLines).rows.count == 1)
    }

    @Test("Text after the object is rejected")
    func textAfter() {
        #expect(problem(#"{"url":"u"} x"#) == .malformedJSON(.textAfterValue, column: 13))
        #expect(problem(#"{"url":"u"}{}"#) == .malformedJSON(.textAfterValue, column: 12))
        #expect(problem("12 x") == .malformedJSON(.textAfterValue, column: 4))
        #expect(problem("hello") == .malformedJSON(.unexpectedByte, column: 1))
    }

    @Test("Arrays and objects nest at most 64 levels deep")
    func depth() {
        func line(_ depth: Int) -> String {
            let (opening, closing) = (
                String(repeating: "[", count: depth - 1), String(repeating: "]", count: depth - 1)
            )
            return "{\"url\":\"u\",\"v\":\(opening)\(closing)}"
        }
        #expect(reading(line(64), .jsonLines).rows.count == 1)
        #expect(reading(line(65), .jsonLines).reasons == [.malformedJSON(.nestedTooDeeply, column: 79)])
        let deep = Array(String(repeating: "[", count: 1_000_000).utf8)
        #expect(reading([deep[...]], .jsonLines).reasons == [.malformedJSON(.nestedTooDeeply, column: 65)])
        let objects = Array(String(repeating: "{\"a\":", count: 200_000).utf8)
        #expect(reading([objects[...]], .jsonLines).reasons == [.malformedJSON(.nestedTooDeeply, column: 321)])
    }

    @Test("Reasons are sentences")
    func sentences() {
        let reason = InputReject.Reason.malformedJSON(.invalidEscape, column: 9)
        #expect(reason.description == "Malformed JSON at column 9: invalid escape sequence.")
        let count = InputReject.Reason.wrongNumberOfFields(2, header: 3)
        #expect(count.description == "The row has 2 fields, the header 3.")
    }
}
