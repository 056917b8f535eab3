import InflightDisk
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct SpillingMapTests {
    @Test("Values are found again in memory and on disk, and memory holds at most its limit")
    func remembering() {
        let memory = SpillingMap(limits: .init(entries: 500))
        for number in 0..<20_000 {
            memory["key \(number)"] = Array("value \(number)".utf8)
            #expect(memory.residentCount <= 500)
        }
        for number in stride(from: 0, to: 20_000, by: 37) {
            #expect(memory["key \(number)"] == Array("value \(number)".utf8))
        }
        #expect(memory["key 20000"] == nil)
        #expect(memory[""] == nil)
    }

    @Test("A later value replaces an earlier one of the same or another length")
    func replacing() {
        let memory = SpillingMap(limits: .init(entries: 2))
        for round in 0..<4 {
            for key in 0..<50 {
                memory["\(key)"] = Array(repeating: UInt8(round), count: round == 3 ? 1 : 8)
            }
        }
        for key in 0..<50 { #expect(memory["\(key)"] == [3]) }
    }

    @Test("Bytes in memory are limited as well as entries")
    func bytes() {
        let memory = SpillingMap(limits: .init(entries: 1000, bytes: 10_000))
        for key in 0..<20 { memory["\(key)"] = [UInt8](repeating: UInt8(key), count: 3000) }
        #expect(memory.residentCount <= 4)
        for key in 0..<20 { #expect(memory["\(key)"] == [UInt8](repeating: UInt8(key), count: 3000)) }
    }

    @Test("If the disk is full, entries stay in memory and none is lost", arguments: 1...20)
    func fullDisk(_ pages: Int) {
        // Some limits are hit while the table is created, others while it grows.
        let memory = SpillingMap(limits: .init(entries: 20)) { try TemporaryTable(maximumPages: pages) }
        for number in 0..<3000 { memory["\(number)"] = [UInt8(number & 0xFF)] }
        let forgotten = (0..<3000).filter { memory["\($0)"] != [UInt8($0 & 0xFF)] }
        #expect(forgotten.isEmpty)
    }
}
