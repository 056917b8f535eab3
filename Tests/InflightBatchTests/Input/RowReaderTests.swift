import Testing

@testable import InflightBatch

@Suite("Input: text, limits and errors", .timeLimit(.minutes(10)))
struct RowReaderTests {
    @Test("A text input has one URL per line, and commas, quotes and # mean nothing")
    func text() {
        let result = reading("http://a/1,2\n\"http://b\"\r\n  http://c \t\n#d\nhttp://e/ä", .text)
        #expect(result.urls == ["http://a/1,2", "\"http://b\"", "http://c", "#d", "http://e/ä"])
        #expect(result.rows.map(\.number) == [0, 1, 2, 3, 4])
        #expect(result.rows.map(\.line) == [1, 2, 3, 4, 5])
        #expect(result.rejects.isEmpty && result.error == nil)
    }

    @Test("Blank lines are counted, and are no rows", arguments: [InputFormat.text, .jsonLines])
    func blankLines(format: InputFormat) {
        let row = format == .text ? "u" : #"{"url":"u"}"#
        let result = reading("\n\r\n\(row)\n \t\n\n\(row)\n\n", format)
        #expect(result.urls == ["u", "u"])
        #expect(result.rows.map(\.number) == [0, 1])
        #expect(result.rows.map(\.line) == [3, 6])
        #expect(result.blankLineCount == 5)
    }

    @Test("A byte order mark at the beginning is skipped", arguments: [InputFormat.text, .jsonLines, .csv])
    func byteOrderMark(format: InputFormat) {
        let text = [InputFormat.text: "u", .jsonLines: #"{"url":"u"}"#, .csv: "url,x\nu,1"][format] ?? ""
        #expect(reading("\u{FEFF}" + text, format).urls == ["u"])
    }

    @Test("A row that is not UTF-8 is rejected, and the next is read")
    func notUTF8() {
        let bad: [UInt8] = [0x75, 0xC3, 0x28, 0x0A, 0x76, 0x0A]
        #expect(reading(bad, .text).reasons == [.notUTF8])
        #expect(reading(bad, .text).urls == ["v"])
        #expect(reading(Array("url\n".utf8) + bad, .csv).reasons == [.notUTF8])
        let json = Array(#"{"url":"u","x":""#.utf8) + [0xFF] + Array("\"}".utf8)
        #expect(reading(json, .jsonLines).reasons == [.notUTF8])
    }

    @Test("A line of the limit's length is read, a longer one is rejected, and the next is read")
    func rowLimit() {
        let options = inputOptions { $0.rowLimit = 4 }
        let result = reading("abcd\nabcde\nx\nabcdefghijklmnopq\r\ny\nabcdef", .text, options)
        #expect(result.urls == ["abcd", "x", "y"])
        let long = InputReject.Reason.tooLong(limit: 4)
        #expect(
            result.rejects == [
                .init(number: 1, line: 2, reason: long), .init(number: 3, line: 4, reason: long),
                .init(number: 5, line: 6, reason: long),
            ])
    }

    @Test("An input without rows is an error", arguments: ["", "\n", " \r\n\n", "\u{FEFF}"])
    func empty(text: String) {
        #expect(reading(text, .text).error == .empty(header: false))
        #expect(reading(text, .jsonLines).error == .empty(header: false))
    }

    @Test("A CSV input without a header or without rows is an error")
    func emptyCSV() {
        #expect(reading("", .csv).error == .empty(header: false))
        #expect(reading("\r\n\n", .csv).error == .empty(header: false))
        #expect(reading("url,x\n\n", .csv).error == .empty(header: true))
        #expect(reading("url,x\nrejected\n", .csv).error == nil)
    }

    @Test("A missing column is an error that names it and the columns of the input")
    func missingColumn() {
        let columns = ["URL", "TEXT"]
        #expect(reading("URL,TEXT\nu,t\n", .csv).error == .missingColumn("url", columns: columns))
        let options = inputOptions { ($0.urlColumn, $0.idColumn) = ("URL", "key") }
        let result = reading("URL,TEXT\nu,t\n", .csv, options)
        #expect(result.error == .missingColumn("key", columns: columns))
        #expect(result.error?.description == "The input has no column 'key'. Columns: URL, TEXT.")
        let caption = inputOptions { $0.captionColumn = "c" }
        #expect(reading("url\nu\n", .csv, caption).error == .missingColumn("c", columns: ["url"]))
        #expect(reading("http://example.org\n", .text, caption).error == .missingColumn("c", columns: []))
    }

    @Test("The message about a missing column stays short")
    func manyColumns() {
        let columns = (0..<5000).map { "\($0)" + String(repeating: "é", count: 500) }
        let error = InputError.missingColumn("x", columns: columns)
        #expect(error.description.count < 1500)
        #expect(error.description.hasSuffix(" and 4980 more."))
    }

    @Test("A duplicate column name is an error")
    func duplicateColumn() {
        #expect(reading("url,a,b,a\n1,2,3,4\n", .csv).error == .duplicateColumn("a"))
    }

    @Test("A header that cannot be read is an error")
    func malformedHeader() {
        let options = inputOptions { $0.rowLimit = 8 }
        #expect(reading("url,abcdef\nu,1\n", .csv, options).error == .headerTooLong(limit: 8))
        #expect(reading("url,\"a\nu,1\n", .csv).error == .malformedHeader(.quoteNeverClosed(line: 1)))
        #expect(reading("url,\"a\"b\nu,1\n", .csv).error == .malformedHeader(.textAfterQuote(line: 1)))
        #expect(reading(Array("url,".utf8) + [0xFF, 0x0A], .csv).error == .malformedHeader(.notUTF8))
    }

    @Test(
        "A file that begins with a magic number is an error that names its format",
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE0], "a JPEG image"), ([0x1F, 0x8B, 0x08], "gzip data"),
            (Array("RIFF1234WEBPVP8 ".utf8), "a WebP image"), ([0x50, 0x4B, 3, 4, 10, 10], "a ZIP archive"),
            ([0, 0, 0, 0x1C] + Array("ftypavif".utf8), "an ISO media file (AVIF, HEIC, MP4)"),
            (Array("PAR1\n\n\n\n\n\n\n\n\n".utf8), "a Parquet file"), ([0xFF, 0xFE, 0x68, 0, 0x74, 0], "UTF-16 text"),
        ])
    func magicNumber(bytes: [UInt8], kind: String) {
        for format in [InputFormat.text, .csv, .jsonLines] {
            let result = reading(bytes, format)
            #expect(result.error == .binary(kind: kind) && result.results.isEmpty)
        }
    }

    @Test("A row with a NUL byte is rejected, and the next is read, at the beginning as later")
    func nul() {
        let text = reading("http://a\nb\0\nhttp://c\n", .text)
        #expect(text.urls == ["http://a", "http://c"] && text.reasons == [.containsNUL])
        let table = reading("url,c\nu,a\0b\nv,c\nw,d\n", .csv)
        #expect(table.urls == ["v", "w"] && table.reasons == [.containsNUL] && table.error == nil)
        for length in [10, 4095, 5000] {
            let bytes = [UInt8](repeating: 0x61, count: length) + [0, 0x0A, 0x62, 0x0A]
            #expect(reading([bytes[...]], .text).reasons == [.containsNUL])
            #expect(reading([bytes[..<9], bytes[9...]], .text).urls == ["b"])
        }
        #expect(reading("url,caption\0\nu,1\n", .csv).error == .malformedHeader(.containsNUL))
    }

    @Test("An input with many NUL bytes at its beginning is an error")
    func binary() {
        #expect(reading("ab\0\0\0\n\0cd\0\0\n", .text).error == .binary(kind: nil))
        #expect(reading("\0,url\n1,2\n", .csv).error == .binary(kind: nil))
    }

    @Test("An endless line with NUL bytes is an error before the line ends")
    func endlessBinary() throws {
        var reader = RowReader(format: .csv, options: inputOptions { $0.rowLimit = 100 })
        let zeros = [UInt8](repeating: 0, count: 2048)
        reader.append(zeros[...])
        #expect(try reader.next() == nil)
        reader.append(zeros[...])
        #expect(throws: InputError.binary(kind: nil)) { _ = try reader.next() }
        #expect(throws: InputError.binary(kind: nil)) { _ = try reader.next() }
    }

    @Test("After an error, further calls throw the same error")
    func repeatedError() {
        var reader = RowReader(format: .csv, options: .init())
        reader.append(Array("link,text\nu,t\nv,t\n".utf8)[...])
        for _ in 0..<3 {
            #expect(throws: InputError.missingColumn("url", columns: ["link", "text"])) { _ = try reader.next() }
        }
    }

    @Test("A row is returned before more of the input is there")
    func streaming() throws {
        var reader = RowReader(format: .text, options: .init())
        reader.append(Array("http://a.example\nhttp:".utf8)[...])
        guard case .row(let row) = try reader.next() else { return #expect(Bool(false), "no row") }
        #expect(row.url == "http://a.example")
        #expect(try reader.next() == nil)
        #expect(reader.rowCount == 1)
    }

    @Test("The memory of an endless row is bounded by the limit", arguments: [InputFormat.text, .csv, .jsonLines])
    func memory(format: InputFormat) {
        let table = RecordScanner.Grammar.fields(separator: UInt8(ascii: ","), isQuoted: true)
        let grammar = format == .csv ? table : .lines
        let fills = format == .csv ? ["a", "\"ab\"\"c\",", "\n\"", "\"\"", "x,\""] : ["a", "\""]
        for fill in fills.map({ Array($0.utf8) }) {
            var scanner = RecordScanner(grammar, limit: 1000)
            let chunk = (0..<500).map { fill[$0 % fill.count] }
            for _ in 0..<100 {
                scanner.append(chunk[...])
                while scanner.next() != nil {}
                #expect(scanner.held.count <= 1000)
            }
        }
    }

    @Test(
        "A file name gives the format and the compression",
        arguments: [
            ("a.txt", InputFormat.text, nil), ("/x/b.LIST", .text, nil), ("c.jsonl.gz", .json, .gzip),
            ("c.ndjson.zst", .json, .zstd), ("c.json", .json, nil), ("d.csv.Gz", .csv, .gzip),
            ("a.b.tsv.zst", .tsv, .zstd),
        ] as [(String, InputFormat, InputFormat.Compression?)])
    func detection(name: String, format: InputFormat, compression: InputFormat.Compression?) {
        let detected = InputFormat.detected(fileName: name)
        #expect(detected?.format == format && detected?.compression == compression)
    }

    @Test(
        "A file name with another suffix has no format",
        arguments: ["", "-", "csv", "a.gz", "a.csv.xz", "a.csv.gz.gz"])
    func unknownSuffix(name: String) {
        #expect(InputFormat.detected(fileName: name) == nil)
    }
}
