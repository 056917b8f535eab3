import Glibc
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Input: index of URLs", .timeLimit(.minutes(5)))
struct URLIndexTests {
    @Test("The first row of each URL is found, also after many divisions")
    func manyURLs() throws {
        let directory = TemporaryDirectory()
        let index = try URLIndex(in: directory.path)
        let count = 20_000
        for row in 0..<count { #expect(try index.firstRow("http://h/\(row)", orInsert: row) == nil) }
        for row in 0..<count { #expect(try index.firstRow("http://h/\(row)", orInsert: count + row) == row) }
        #expect(index.count == count)
    }

    @Test("The empty URL, and URLs that differ in their last byte, are different")
    func similarURLs() throws {
        let directory = TemporaryDirectory()
        let index = try URLIndex(in: directory.path)
        let urls = ["", "a", "b", "aa", String(repeating: "a", count: 10_000)]
        for (row, url) in urls.enumerated() { #expect(try index.firstRow(url, orInsert: row) == nil) }
        for (row, url) in urls.enumerated() { #expect(try index.firstRow(url, orInsert: 9) == row) }
    }

    @Test("The largest row is found, a larger one is an error")
    func largestRow() throws {
        let directory = TemporaryDirectory()
        let index = try URLIndex(in: directory.path)
        let largest = 1 << 40 - 1
        #expect(try index.firstRow("a", orInsert: largest) == nil)
        #expect(try index.firstRow("a", orInsert: 0) == largest)
        #expect(throws: BatchFailure.self) { try index.firstRow("b", orInsert: largest + 1) }
    }

    @Test("The file has no name, and a missing folder is an error that names it")
    func file() throws {
        let directory = TemporaryDirectory()
        let index = try URLIndex(in: directory.path)
        #expect(TemporaryDirectory.names(directory.path).isEmpty)
        #expect(index.count == 0)
        let error = #expect(throws: BatchFailure.self) { try URLIndex(in: directory.appending("missing")) }
        #expect(
            error?.description
                == "Cannot create \(directory.path)/missing/urls.partial: No such file or directory.")
    }
}
