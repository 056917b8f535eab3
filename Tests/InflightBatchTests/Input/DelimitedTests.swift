import Testing

@testable import InflightBatch

@Suite("Input: CSV and TSV", .timeLimit(.minutes(10)))
struct DelimitedTests {
    private func small(_ limit: Int) -> InputOptions { inputOptions { $0.rowLimit = limit } }

    @Test("Columns are found by name, and the others pass through in order")
    func columns() {
        let options = inputOptions { ($0.urlColumn, $0.idColumn, $0.captionColumn) = ("u", "i", "c") }
        let result = reading("x,c,u,,i\r\n1, a ,http://a,2,7\r\n,,http://b,,\r\n", .csv, options)
        #expect(
            result.rows == [
                InputRow(
                    number: 0, line: 2, url: "http://a", id: "7", caption: " a ",
                    columns: [.init(name: "x", value: .text("1")), .init(name: "", value: .text("2"))]),
                InputRow(
                    number: 1, line: 3, url: "http://b", id: "", caption: "",
                    columns: [.init(name: "x", value: .text("")), .init(name: "", value: .text(""))]),
            ])
    }

    @Test("A quoted field may contain separators, doubled quotes and newlines")
    func quotes() {
        let text = "\"url\",c\n\"http://a/1,2\",\"a \"\"b\"\"\r\nc\"\"\"\n\"\"\"\",\"\"\r\nu,\"\"\"\"\"\"\n"
        let result = reading(text, .csv)
        #expect(result.urls == ["http://a/1,2", "\"", "u"])
        let values: [InputRow.Value] = [.text("a \"b\"\r\nc\""), .text(""), .text("\"\"")]
        #expect(result.rows.flatMap { $0.columns.map(\.value) } == values)
        #expect(result.rows.map(\.line) == [2, 4, 5])
        #expect(result.error == nil)
    }

    @Test("In TSV the separator is a tab, and quotes have no meaning unless they are given that of CSV")
    func tsv() {
        let plain = reading("url\tc\nhttp://a,b\t\"x\"\"\nhttp://b\t\"y\nhttp://c\tz\"\n", .tsv)
        #expect(plain.urls == ["http://a,b", "http://b", "http://c"] && plain.rejects.isEmpty)
        #expect(plain.rows.map { $0.columns.map(\.value) } == ["\"x\"\"", "\"y", "z\""].map { [.text($0)] })
        let quoted = reading("url\tc\nhttp://a,b\t\"x\ty\"\n", .tsv, inputOptions { $0.quoting = .csv })
        #expect(quoted.rows.first?.columns.first?.value == .text("x\ty"))
    }

    @Test("Without quoting, a quote in CSV is a character")
    func noQuoting() {
        let result = reading("url,c\nu,\"a\nv,\"b\"\n", .csv, inputOptions { $0.quoting = InputOptions.Quoting.none })
        #expect(result.rows.flatMap { $0.columns.map(\.value) } == [.text("\"a"), .text("\"b\"")])
    }

    @Test("A caption that begins with a quote rejects its own line only, wherever the next quote is")
    func captionsWithQuotes() {
        let rows = (0..<20).map { number in
            let caption = number % 7 == 3 ? "\"so\" she said" : number % 5 == 1 ? "\"Nice" : "plain"
            return "http://h/\(number),\(caption)\n"
        }
        let result = reading("url,a\n" + rows.joined(), .csv)
        #expect(result.results.count == 20 && result.rejects.map(\.number) == [1, 3, 6, 10, 11, 16, 17])
        #expect(result.rows.map(\.line) == result.rows.map { $0.number + 2 })
    }

    @Test("A field of several lines that hides rows rejects its own line only, unless RFC 4180 is asked for")
    func hiddenRows() {
        let text =
            "url,a\nhttp://h/0,\"so\nhttp://h/1,x\nhttps://h/2,5\"\nhttp://h/3,\"two\nlines\"\n"
            + "http://h/4,\"u\nv\",w\n"
        let result = reading(text, .csv)
        #expect(result.urls == ["http://h/1", "https://h/2", "http://h/3", "v\""])
        #expect(result.rows.map(\.line) == [3, 4, 5, 8])
        let rejects = [(0, 2), (4, 7)].map { number, line in
            InputReject(number: number, line: line, reason: .quoteNeverClosed(line: line))
        }
        #expect(result.rejects == rejects)
        let strict = reading(text, .csv, inputOptions { $0.quoting = .csv })
        #expect(strict.urls == ["http://h/0", "http://h/3"] && strict.rejects.count == 1)
    }

    @Test("A quote within an unquoted field, and a CR within a line, belong to the field")
    func literalQuote() {
        #expect(reading("url,c\nu\"v\",5\"\r6\n", .csv).rows.first?.columns.first?.value == .text("5\"\r6"))
    }

    @Test("The last line needs no newline", arguments: ["", "\r", "\n", "\r\n"])
    func lastLine(end: String) {
        #expect(reading("c,url\n1,u" + end, .csv).urls == ["u"])
        #expect(reading("c,url\n1,\"u\"" + end, .csv).urls == ["u"])
        #expect(reading("url,c\nu," + end, .csv).rows.first?.columns.first?.value == .text(""))
    }

    @Test("A row with another number of fields than the header is rejected")
    func fieldCount() {
        let result = reading("url,a\nu\nu,1\nu,1,\nu,1,2,3\n", .csv)
        #expect(result.urls == ["u"])
        #expect(result.rows.first?.number == 1)
        #expect(
            result.rejects == [
                .init(number: 0, line: 2, reason: .wrongNumberOfFields(1, header: 2)),
                .init(number: 2, line: 4, reason: .wrongNumberOfFields(3, header: 2)),
                .init(number: 3, line: 5, reason: .wrongNumberOfFields(4, header: 2)),
            ])
    }

    @Test("A row without a URL is a row, and white space around a URL is removed")
    func emptyURL() {
        let result = reading("url,a\n,1\n \t,2\n\"\",3\n\" u \r\n\",4\n", .csv)
        #expect(result.urls == ["", "", "", "u"] && result.rejects.isEmpty)
        let tabs = reading("url\ta\n\t\n u \t\n", .tsv)
        #expect(tabs.urls == ["", "u"] && tabs.blankLineCount == 0)
    }

    @Test("Text after a closing quote rejects the line on which the field begins, and the lines after it are read")
    func textAfterQuote() {
        let result = reading("url,a\n\"u\nv,1\n\"x,2\nw,3\n\"y\" ,\"4\n\"z\"\r,5\nu,\"a\"\"b\"c\nt,6\n", .csv)
        #expect(result.urls == ["v", "w", "t"] && result.rows.map(\.line) == [3, 5, 9])
        #expect(
            result.rejects == [
                .init(number: 0, line: 2, reason: .quoteNeverClosed(line: 2)),
                .init(number: 2, line: 4, reason: .quoteNeverClosed(line: 4)),
                .init(number: 4, line: 6, reason: .textAfterQuote(line: 6)),
                .init(number: 5, line: 7, reason: .textAfterQuote(line: 7)),
                .init(number: 6, line: 8, reason: .textAfterQuote(line: 8)),
            ])
    }

    @Test("A quote that is never closed rejects its line, and the lines after it are read")
    func quoteNeverClosed() {
        let result = reading("url,a\nt,1\nu,\"2\nv,3\nw,4\n", .csv)
        #expect(result.urls == ["t", "v", "w"])
        #expect(result.rejects == [.init(number: 1, line: 3, reason: .quoteNeverClosed(line: 3))])
        #expect(result.rows.map(\.line) == [2, 4, 5])
    }

    @Test("A quote not closed within the limit rejects its line, and the lines after it are read")
    func quoteBeyondLimit() {
        let rows = (0..<20).map { "r\($0),1\n" }.joined()
        let result = reading("url,a\nu,\"2\n\(rows)x,\"3\"\n", .csv, small(16))
        #expect(result.urls == (0..<20).map { "r\($0)" } + ["x"])
        #expect(result.rejects == [.init(number: 0, line: 2, reason: .quoteNeverClosed(line: 2))])
        #expect(result.rows.map(\.line) == Array(3...23))
    }

    @Test("The message names the line where the quote opened, not the row's first line")
    func quoteLine() {
        let result = reading("url,a\n\"u\nv\",\"2\nw,3\n", .csv)
        #expect(result.rejects == [.init(number: 0, line: 2, reason: .quoteNeverClosed(line: 3))])
        #expect(result.urls == ["w"])
        #expect(result.rows.first?.line == 4)
    }

    @Test("If the quote's own line exceeds the limit, reading continues at the next line")
    func longQuotedLine() {
        let long = String(repeating: "x", count: 50)
        let result = reading("url,a\nu,\"\(long),\"\"\(long)\nv,3\n", .csv, small(16))
        #expect(result.reasons == [.quoteNeverClosed(line: 2)])
        #expect(result.urls == ["v"])
        #expect(result.rows.first?.line == 3)
    }

    @Test("A long row ends at the next newline outside quotes")
    func longRow() {
        let long = String(repeating: "x", count: 50)
        let result = reading("url,a\nu,\(long),\"1\n\"\"2\n3\",\(long)\nv,3\n", .csv, small(16))
        #expect(result.rejects == [.init(number: 0, line: 2, reason: .tooLong(limit: 16))])
        #expect(result.urls == ["v"])
        #expect(result.rows.first?.line == 5)
    }

    @Test("A quote that opens in the skipped part of a long row and is not closed does not hide the next lines")
    func quoteInLongRow() {
        let long = String(repeating: "x", count: 50)
        let rows = (0..<9).map { "r\($0),1\n" }.joined()
        let result = reading("url,a\nu,\(long),\"1\n\(rows)", .csv, small(16))
        #expect(result.rejects == [.init(number: 0, line: 2, reason: .quoteNeverClosed(line: 2))])
        #expect(result.urls == (0..<9).map { "r\($0)" })
        #expect(result.rows.map(\.line) == Array(3...11))
    }

    @Test("A row of the limit's length is read, and one more byte is too long")
    func exactLimit() {
        let result = reading("url,a\nu,345678\nu,3456789\nu,\"4567\"\nu,\"45678\"\n", .csv, small(8))
        #expect(result.rows.map(\.number) == [0, 2])
        #expect(result.reasons == [.tooLong(limit: 8), .tooLong(limit: 8)])
    }

    @Test("Generated tables are read as they were written", arguments: 0..<50)
    func roundTrip(seed: UInt64) {
        var random = Generator(state: seed)
        let pieces = ["", "a", ",", "\"", "\n", "\r\n", "\r", "ü", " ", "http://x/"]
        let table: [[String]] = (0..<8).map { _ in
            ["u"] + (0..<3).map { _ in (0..<random.below(5)).map { _ in pieces[random.below(pieces.count)] }.joined() }
        }
        let end = seed % 2 == 0 ? "\n" : "\r\n"
        let lines = table.map { row in
            row.map { field in
                let needsQuotes = field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
                let escaped = field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
                return needsQuotes || random.below(3) == 0 ? "\"\(escaped)\"" : field
            }.joined(separator: ",") + end
        }
        let result = reading("url,a,b,c" + end + lines.joined(), .csv, inputOptions { $0.quoting = .csv })
        #expect(result.rejects.isEmpty)
        #expect(result.rows.map { $0.columns.map(\.value) } == table.map { $0.dropFirst().map { .text($0) } })
    }

    @Test("Random bytes give the same results however they are cut, and number every row", arguments: 0..<300)
    func randomBytes(seed: UInt64) {
        var random = Generator(state: seed)
        let alphabet = Array("\"\"\"\"\n\n,,\rxy \\{}[:1".utf8) + [0xC3]
        let body = (0..<80).map { _ in alphabet[random.below(alphabet.count)] }
        let format = [InputFormat.csv, .csv, .tsv, .json, .jsonLines][random.below(5)]
        let options = small(1 + random.below(14))
        let result = reading(Array("url\n".utf8) + body, format, options)
        let numbers = result.results.map { result in
            switch result {
            case .row(let row): (row.number, row.line)
            case .reject(let reject): (reject.number, reject.line)
            }
        }
        #expect(numbers.map(\.0) == Array(0..<numbers.count))
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0.1 < $1.1 })
    }
}

/// A generator with a fixed sequence (SplitMix64).
struct Generator {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
