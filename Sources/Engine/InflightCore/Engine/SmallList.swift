/// A list that stores its first four elements inline. Nearly every event of the machine needs no more.
struct SmallList<Element> {
    private var first = InlineArray<4, Element?>(repeating: nil)
    private var others: [Element] = []
    private var count = 0

    mutating func append(_ element: Element) {
        if count < first.count { first[count] = element } else { others.append(element) }
        count += 1
    }

    /// Calls `body` for each element, in order.
    func forEach(_ body: (Element) -> Void) {
        for index in 0..<min(count, first.count) {
            if let element = first[index] { body(element) }
        }
        for element in others { body(element) }
    }

    func map<Result>(_ transform: (Element) -> Result) -> [Result] {
        var results: [Result] = []
        forEach { results.append(transform($0)) }
        return results
    }
}
