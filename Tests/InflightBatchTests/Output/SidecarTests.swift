import Foundation
import Testing

@testable import InflightBatch

@Suite("Sidecars and statistics", .timeLimit(.minutes(5)))
struct SidecarTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("A row without values has all columns, with null")
    func nulls() {
        let row = SidecarRow(url: "http://a/", key: "000000000", status: .failedToDownload)
        #expect(
            text(row.line(SidecarSchema(ownColumns: ["caption", "n"]))) == """
                {"url":"http://a/","key":"000000000","status":"failed_to_download","error_message":null,\
                "error_class":null,"width":null,"height":null,"original_width":null,"original_height":null,\
                "exif":null,"sha256":null,"caption":null,"n":null}

                """)
    }

    @Test("A row has its values in the order of the columns")
    func values() throws {
        var row = SidecarRow(url: "u", key: "k", status: .success)
        (row.image.width, row.image.height, row.image.originalWidth, row.image.originalHeight) = (1, 2, 3, 4)
        row.image.exif = #"{"Make":"x"}"#
        row.image.sha256 = ContentDigest(0..<32)
        row.ownValues = [Array(#"{"a":[1,"b"]}"#.utf8), [], nil, Array("7".utf8)]
        let hex = try #require(row.image.sha256).hex
        #expect(
            text(row.json(SidecarSchema(ownColumns: ["o", "e", "n"]))) == #"""
                {"url":"u","key":"k","status":"success","error_message":null,"error_class":null,"width":1,"height":2,\#
                "original_width":3,"original_height":4,"exif":"{\"Make\":\"x\"}","sha256":"\#(hex)",\#
                "o":{"a":[1,"b"]},"e":null,"n":null}
                """#)
    }

    @Test("Every Unicode scalar survives, and a row is one line")
    func escaping() throws {
        let scalars = (0...0x2100).compactMap(Unicode.Scalar.init) + ["\u{FFFF}", "\u{1F600}", "\u{10FFFF}"]
        let all = String(String.UnicodeScalarView(scalars))
        var row = SidecarRow(url: all, key: "k", status: .success)
        row.ownValues = [Array("[1,\r\n2]".utf8)]
        let line = row.line(SidecarSchema(ownColumns: [all]))
        #expect(line.dropLast().allSatisfy { $0 >= 0x20 } && line.last == 0x0A)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        #expect((object["url"] as? String)?.unicodeScalars.elementsEqual(scalars) == true)
        #expect(object.keys.contains { $0.unicodeScalars.elementsEqual(scalars) })
        #expect(text(line).contains(#"\u0000\u0001"#) && text(line).contains(#"\t\n\u000b\u000c\r"#))
        #expect(text(line).contains("\u{2028}"))
    }

    @Test("A column with the name of another one is renamed")
    func renamed() {
        let schema = SidecarSchema(ownColumns: ["url", "a", "input_url", "a", "key"])
        #expect(schema.ownColumns == ["input_input_url", "a", "input_url", "input_a", "input_key"])
    }

    @Test("A row is read as it was written, with and without the class of its failure")
    func read() throws {
        var row = SidecarRow(url: "u", key: "k", status: .failedToDownload)
        (row.errorMessage, row.errorClass) = ("No such host.", "host_not_found")
        row.ownValues = [Array("7".utf8)]
        let schemas = [true, false].map { SidecarSchema(ownColumns: ["error_class"], hasErrorClass: $0) }
        #expect(schemas.map(\.ownColumns) == [["input_error_class"], ["error_class"]])
        for schema in schemas {
            let line = row.json(schema)
            #expect(text(line).contains(#""host_not_found""#) == schema.hasErrorClass)
            #expect(SidecarSchema(line: line[...]) == schema)
            let found = try #require(SidecarRow(line: line[...], schema: schema))
            #expect(found.errorClass == (schema.hasErrorClass ? "host_not_found" : nil))
            #expect(found.errorMessage == "No such host." && found.ownValues == row.ownValues)
        }
    }

    @Test("Statistics have img2dataset's names and are sorted")
    func stats() {
        var stats = ShardStats()
        stats.addSuccess(bytes: 10)
        stats.addFailure(class: "http", isResize: false)
        stats.addFailure(class: "dns", isResize: false)
        var other = ShardStats()
        other.addFailure(class: "decode", isResize: true)
        other.addFailure(class: "dns", isResize: false)
        other.addSuccess(bytes: .max)
        stats.duration = .milliseconds(1_005)
        stats.add(other)
        #expect(
            text(stats.json) == """
                {"count":6,"successes":2,"failed_to_download":3,"failed_to_resize":1,"bytes":9223372036854775807,\
                "duration":1.005000,"status_dict":{"decode":1,"dns":2,"http":1,"success":2}}

                """)
        stats.startTime = .seconds(1_795_000_000) + .microseconds(5)
        stats.endTime = .seconds(1_795_000_060.5)
        #expect(
            text(stats.json).contains(
                #""duration":1.005000,"start_time":1795000000.000005,"end_time":1795000060.500000,"status_dict""#))
        stats.duration = .seconds(-1)
        #expect(text(stats.json).contains(#""duration":0.000000,"#))
        #expect(text(ShardStats().json).contains(#""status_dict":{}}"#))
    }
}
