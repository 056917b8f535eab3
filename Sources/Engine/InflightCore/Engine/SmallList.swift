/// A list that stores its first four elements inline. Nearly every event of the machine needs no more.
struct SmallList<Element> {
    private var first: Element?
    private var second: Element?
    private var third: Element?
    private var fourth: Element?
    private var others: [Element] = []

    mutating func append(_ element: Element) {
        if first == nil {
            first = element
        } else if second == nil {
            second = element
        } else if third == nil {
            third = element
        } else if fourth == nil {
            fourth = element
        } else {
            others.append(element)
        }
    }

    /// Calls `body` for each element, in order.
    func forEach(_ body: (Element) -> Void) {
        guard let first else { return }
        body(first)
        guard let second else { return }
        body(second)
        guard let third else { return }
        body(third)
        guard let fourth else { return }
        body(fourth)
        for element in others { body(element) }
    }

    func map<Result>(_ transform: (Element) -> Result) -> [Result] {
        var results: [Result] = []
        forEach { results.append(transform($0)) }
        return results
    }
}
