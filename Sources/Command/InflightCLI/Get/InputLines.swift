import Dispatch
import InflightCore

/// The lines of a run: the URLs among the arguments, then those of the list.
///
/// Confined to the run's queue.
final class InputLines {
    enum Line {
        case url(String)
        /// A line that cannot be a URL, with its beginning.
        case invalid(String, LoadError)
    }

    private var arguments: ArraySlice<String>
    private let list: ListSource?

    init(_ arguments: [String], list descriptor: Int32?, queue: DispatchQueue) {
        self.arguments = arguments[...]
        list = descriptor.map { ListSource(descriptor: $0, queue: queue) }
    }

    /// Sets a function to call on the queue when lines are available again.
    func whenReadable(_ body: @escaping () -> Void) { list?.onReadable = body }

    /// The number of lines that are known to follow.
    var count: Int { arguments.count }

    /// Whether all lines of the list were taken.
    var listIsAtEnd: Bool { list?.isAtEnd ?? true }

    var isAtEnd: Bool { arguments.isEmpty && listIsAtEnd }

    /// The reason why reading the list stopped before its end.
    var failure: String? { list?.failure }

    /// Returns the next line, or `nil` if none is available yet or none follows.
    func next() -> Line? {
        if let url = arguments.popFirst() { return .url(url) }
        switch list?.next() {
        case .text(let bytes): return .url(PercentEncoding.text(ofURL: bytes))
        case .tooLong(let number, let beginning):
            let limit = Quantity.grouped(ListSource.longestLine)
            let message = "Line \(number) of the list exceeds \(limit) bytes, the limit for a URL."
            return .invalid(
                String(decoding: beginning, as: UTF8.self) + "…",
                LoadError(.invalidURL, stage: .request, message: message))
        case .endless, nil: return nil
        }
    }

    /// Stops reading the list.
    func stop() { list?.stop() }
}
