import Inflight
import InflightCore

/// The URLs of a run: each requested URL becomes one item, and later lines share the result of that item.
///
/// Confined to the run's queue.
final class ItemTable {
    /// The name of the only file, if the user chose one.
    private let fileName: String?
    private let reporter: LineReporter
    /// The items in flight, by key.
    private var live: [String: ListItem] = [:]
    /// The results of earlier items, by key.
    private var results = SpillingMap()
    private var lastID = 0

    init(fileName: String?, reporter: LineReporter) {
        self.fileName = fileName
        self.reporter = reporter
    }

    /// The number of lines that are not reported yet.
    var unreported: Int { max(reporter.unreported, live.count) }

    /// The body bytes of items in flight that were received so far.
    var receivedBytes: Int64 { live.values.reduce(0) { $0 + $1.receivedBytes } }

    /// The items in flight, in request order.
    var inOrder: [ListItem] { live.values.sorted { $0.id < $1.id } }

    /// Takes the URL of a line.
    ///
    /// - Returns: A new item to begin, or `nil` if the line shares the result of another one, or if it is invalid.
    func take(_ text: String) -> ListItem? {
        let url: ResourceURL
        do throws(LoadError) {
            url = try ResourceURL(text)
        } catch {
            reporter.refused(text, error)
            return nil
        }
        let waiter = reporter.opened(text)
        let key = Self.key(url)
        if let item = live[key] {
            item.others.append(waiter)
            reporter.joined(waiter, item)
            return nil
        }
        if let digest = results[key].flatMap(Report.Digest.init(encoded:)) {
            reporter.repeated(waiter, digest, key: key)
            return nil
        }
        lastID += 1
        let item = ListItem(id: lastID, url: url, key: key, chosenName: fileName, first: waiter)
        live[key] = item
        return item
    }

    /// An item has ended: reports its result, and remembers it for later lines.
    func ended(_ item: ListItem, _ report: Report) {
        live[item.key] = nil
        results[item.key] = reporter.finished(item, report).encoded
    }

    /// The run ends before an item.
    func abandoned(_ item: ListItem) {
        live[item.key] = nil
        reporter.abandoned(item)
    }

    /// Returns the key under which lines for the same URL share one item.
    private static func key(_ url: ResourceURL) -> String {
        guard let userInfo = url.userInfo else { return url.string }
        // A URL cannot contain a line feed. Byte by byte, because equal text may be encoded in different bytes.
        return "\(url.string)\n\(userInfo.utf8.map { String($0) }.joined(separator: " "))"
    }
}
