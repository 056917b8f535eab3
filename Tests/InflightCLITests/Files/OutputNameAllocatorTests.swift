import InflightCore
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct OutputNameAllocatorTests {
    /// Requests names in order, ends the loads in another order, and returns the names by number.
    private func names(_ asked: [String], ending order: [(Int, ImageFormat?)]) -> [Int: String] {
        var book = OutputNameAllocator(memory: SpillingMap())
        let suggested = asked.map { SuggestedName(lastPart: Substring($0)) }
        for (id, name) in suggested.enumerated() { book.asked(id, stem: name.stem) }
        var result: [Int: String] = [:]
        for (id, format) in order {
            let ending: OutputNameAllocator.Ending =
                format.map { .stored(suggested[id].parts(for: $0)) }
                ?? .failed(expected: suggested[id].expectedParts(format: nil, inspectsBody: true))
            for decision in book.ended(id, stem: suggested[id].stem, ending) {
                result[decision.id] = decision.name ?? "failed"
            }
        }
        #expect(book.isEmpty)
        return result
    }

    @Test("Equal names are numbered in request order, whatever order the loads end in")
    func order() {
        let expected = [0: "a.jpg", 1: "a-2.jpg", 2: "a-3.jpg"]
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
            #expect(names(["a.jpg", "a.jpg", "a.jpg"], ending: order.map { ($0, .jpeg) }) == expected)
        }
    }

    @Test("Long names that are equal after truncation are numbered in request order")
    func cut() {
        let long = String(repeating: "x", count: 130)
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
            #expect(
                names([long + "-1.jpg", long + "-2.jpg", long + ".jpg"], ending: order.map { ($0, .jpeg) }) == [
                    0: String(repeating: "x", count: 116) + ".jpg", 1: String(repeating: "x", count: 114) + "-2.jpg",
                    2: String(repeating: "x", count: 114) + "-3.jpg",
                ], "\(order)")
        }
    }

    @Test("Names are compared with the extensions of the actual formats, not of the URLs")
    func contents() {
        #expect(names(["a.jpg", "a.png"], ending: [(1, .png), (0, .jpeg)]) == [0: "a.jpg", 1: "a.png"])
        #expect(names(["a.jpg", "a.png"], ending: [(1, .png), (0, .png)]) == [0: "a.png", 1: "a-2.png"])
        #expect(names(["a", "a.jpg"], ending: [(1, .jpeg), (0, .jpeg)]) == [0: "a.jpg", 1: "a-2.jpg"])
    }

    @Test("A failed load keeps its expected name, so that a later run assigns the same names")
    func failures() {
        #expect(names(["a.jpg", "a.jpg"], ending: [(1, .jpeg), (0, nil)]) == [0: "failed", 1: "a-2.jpg"])
        #expect(names(["a", "a.jpg"], ending: [(0, nil), (1, .jpeg)]) == [0: "failed", 1: "a-2.jpg"])
        #expect(names(["a.jpg", "a.png"], ending: [(0, nil), (1, .png)]) == [0: "failed", 1: "a.png"])
    }

    @Test("A number in the name of a URL never collides with an assigned number")
    func numbered() {
        for order in [[0, 1, 2], [2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1]] {
            #expect(
                names(["a.jpg", "a.jpg", "a-2.jpg"], ending: order.map { ($0, .jpeg) })
                    == [0: "a.jpg", 1: "a-2.jpg", 2: "a-2-2.jpg"], "\(order)")
            #expect(
                names(["a-2.jpg", "a.jpg", "a.jpg"], ending: order.map { ($0, .jpeg) })
                    == [0: "a-2.jpg", 1: "a.jpg", 2: "a-3.jpg"], "\(order)")
        }
    }

    @Test("A name is assigned at once if no earlier request can take it")
    func noWaiting() {
        var book = OutputNameAllocator(memory: SpillingMap())
        for (id, stem) in ["a", "b", "img-1", "img-2"].enumerated() { book.asked(id, stem: stem) }
        for (id, stem) in [(3, "img-2"), (1, "b"), (2, "img-1"), (0, "a")] {
            let decided = book.ended(id, stem: stem, .stored(NameParts(stem: stem, fileExtension: "jpg")))
            #expect(decided == [.init(id: id, name: stem + ".jpg")])
        }
    }

    @Test("Names that files have are not assigned, except to the URL whose file it is")
    func files() {
        var book = OutputNameAllocator(memory: SpillingMap()) { ["a.jpg", "a-3.jpg"].contains($0) }
        let parts = NameParts(stem: "a", fileExtension: "jpg")
        for id in 0..<5 { book.asked(id, stem: "a") }
        let endings: [OutputNameAllocator.Ending] = [
            .stored(parts), .stored(parts, own: "a-3.jpg"), .existing, .failed(expected: parts), .stored(parts),
        ]
        let names = endings.enumerated().map { book.ended($0.offset, stem: "a", $0.element).first?.name }
        #expect(names == ["a-2.jpg", "a-3.jpg", nil, nil, "a-5.jpg"])
        #expect(book.another(4, parts) == "a-6.jpg")
    }

    @Test("The last of 20,000 equal names gets number 20,000")
    func many() {
        var book = OutputNameAllocator(memory: SpillingMap(limits: .init(entries: 1000)))
        var last: String?
        for id in 0..<20_000 {
            book.asked(id, stem: "image")
            last = book.ended(id, stem: "image", .stored(NameParts(stem: "image", fileExtension: "jpg"))).first?.name
        }
        #expect(last == "image-20000.jpg")
    }
}
