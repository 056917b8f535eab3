import CInflightGTK
import CXPixels
import Inflight
import InflightGTK

/// A window with a grid of rows, in which each cell is a remote image of its row.
@safe @MainActor
final class RowGrid {
    let window: UnsafeMutablePointer<GtkWidget>
    private let scrolled: UnsafeMutablePointer<GtkWidget>
    private let pipeline: ImagePipeline
    private let grid: UnsafeMutablePointer<GtkWidget>
    private(set) var bindCount = 0
    /// The number of binds to rows whose images were in memory.
    private(set) var hitCount = 0
    /// The number of binds to rows whose images were not in memory and were requested. ``look()`` counts them, so a
    /// bind that ends before the next call is not counted.
    private(set) var askedCount = 0
    /// The time of each bind on the main thread, in nanoseconds.
    private(set) var bindTimes = ImagePipeline.Histogram()
    /// The row to which each cell is bound now.
    private var cells: [UnsafeMutablePointer<GtkWidget>: Bound] = unsafe [:]
    private var pixels: [UInt8] = []

    private struct Bound {
        var row: Int
        var wasInMemory: Bool
        var isAsked = false
    }

    static let size = (width: 720, height: 600)
    /// The width of one column.
    private static let pitch = 90

    init(
        rows: Int, pipeline: ImagePipeline, request: @escaping @MainActor (Int) -> ImageRequest,
        configure: @escaping @MainActor (inout RemoteImage.Options) -> Void
    ) {
        self.pipeline = pipeline
        unsafe window = unsafe gtk_window_new()
        unsafe gtk_window_set_decorated(window.window, 0)
        unsafe scrolled = unsafe gtk_scrolled_window_new()
        let list = unsafe gtk_string_list_new(nil)!
        for row in 0..<rows { unsafe gtk_string_list_append(list, "\(row)") }
        unsafe grid = unsafe gtk_grid_view_new(gtk_no_selection_new(list), nil)
        let factory = unsafe CellFactory { item in
            let picture = unsafe gtk_picture_new()!
            let image = RemoteImage(pipeline: pipeline)
            image.options.size = .points(width: RowImages.side, height: RowImages.side)
            image.options.fit = .contain
            configure(&image.options)
            unsafe image.attach(picture: OpaquePointer(picture))
            unsafe gtk_widget_set_size_request(picture, Int32(RowImages.side), Int32(RowImages.side))
            unsafe gtk_widget_set_halign(picture, GTK_ALIGN_CENTER)
            unsafe gtk_widget_set_valign(picture, GTK_ALIGN_CENTER)
            unsafe gtk_list_item_set_child(item, picture)
        } bind: { [weak self] item in
            let picture = unsafe gtk_list_item_get_child(item)!
            let row = unsafe Int(gtk_list_item_get_position(item))
            guard let image = unsafe RemoteImage.attached(to: picture) else { return }
            let request = request(row)
            let grey = PixelColor(red: 128, green: 128, blue: 128)
            let took = ContinuousClock().measure { image.bind(request, placeholder: .color(grey)) }
            guard let self else { return }
            bindCount += 1
            if image.isLoaded { hitCount += 1 }
            bindTimes.record(took.saturatedNanoseconds)
            unsafe cells[picture] = Bound(row: row, wasInMemory: image.isLoaded)
        } unbind: { [weak self] item in
            guard let picture = unsafe gtk_list_item_get_child(item) else { return }
            unsafe self?.cells[picture] = nil
            unsafe RemoteImage.attached(to: picture)?.unbind()
        }
        unsafe gtk_grid_view_set_factory(OpaquePointer(grid), factory.pointer)
        unsafe g_object_unref(UnsafeMutableRawPointer(factory.pointer))
        unsafe gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid)
        unsafe gtk_window_set_child(window.window, scrolled)
        resize(width: Self.size.width, height: Self.size.height)
        unsafe gtk_widget_show(window)
    }

    /// Resizes the window, and gives the grid as many columns as fit.
    func resize(width: Int, height: Int) {
        let columns = guint(max(1, width / Self.pitch))
        unsafe gtk_grid_view_set_min_columns(OpaquePointer(grid), 1)
        unsafe gtk_grid_view_set_max_columns(OpaquePointer(grid), columns)
        unsafe gtk_grid_view_set_min_columns(OpaquePointer(grid), columns)
        unsafe gtk_window_set_default_size(window.window, Int32(width), Int32(height))
    }

    func close() {
        unsafe gtk_window_destroy(window.window)
        unsafe cells = unsafe [:]
    }

    // MARK: Scrolling

    private var adjustment: UnsafeMutablePointer<GtkAdjustment> {
        unsafe gtk_scrolled_window_get_vadjustment(OpaquePointer(scrolled))
    }

    var limit: Double { unsafe max(0, gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment)) }

    var position: Double {
        get { unsafe gtk_adjustment_get_value(adjustment) }
        set { unsafe gtk_adjustment_set_value(adjustment, max(0, min(limit, newValue))) }
    }

    // MARK: Visible content

    /// Calls `body` with each row that is at least partly visible, and whether its image is loaded.
    func visible(_ body: (_ row: Int, _ isLoaded: Bool) -> Void) {
        for unsafe(cell, bound) in unsafe cells {
            var place = graphene_rect_t()
            guard unsafe gtk_widget_get_mapped(cell) != 0,
                unsafe gtk_widget_compute_bounds(cell, scrolled, &place) != 0,
                place.size.height > 0, place.origin.y + place.size.height > 0,
                unsafe Int32(place.origin.y) < gtk_widget_get_height(scrolled)
            else { continue }
            body(bound.row, unsafe RemoteImage.attached(to: cell)?.isLoaded ?? false)
        }
    }

    struct VisibleCells {
        var right = 0, blank = 0, other = 0
        /// Cells without an image whose state is `failed`.
        var failed = 0
        var wrong: [(row: Int, seen: Int)] = []
        var visible: Int { right + blank + other + failed + wrong.count }

        /// Adds another reading, with only the first few of the wrong cells.
        mutating func add(_ sight: VisibleCells) {
            right += sight.right
            blank += sight.blank
            other += sight.other
            failed += sight.failed
            if wrong.count < 20 { wrong += sight.wrong }
        }

        /// Whether every visible cell shows its own row.
        var isComplete: Bool { right > 0 && right == visible }
    }

    /// Retries all failed loads.
    func retryFailed() {
        unsafe cells.keys.forEach { unsafe RemoteImage.attached(to: $0)?.retry() }
    }

    /// Returns the content of each fully visible cell, as the X server shows it.
    func look() -> VisibleCells? {
        let (width, height) = unsafe (Int(gtk_widget_get_width(window)), Int(gtk_widget_get_height(window)))
        if pixels.count < width * height * 4 { pixels = [UInt8](repeating: 0, count: width * height * 4) }
        let read = unsafe pixels.withUnsafeMutableBufferPointer {
            unsafe Int(x_pixels_read(window, $0.baseAddress!, Int32(width), Int32(height)))
        }
        guard read == width else { return nil }
        var sight = VisibleCells()
        var origin = (x: 0.0, y: 0.0)
        unsafe x_pixels_origin(window, &origin.x, &origin.y)
        for unsafe(cell, bound) in unsafe cells {
            let image = unsafe RemoteImage.attached(to: cell)
            if !bound.isAsked, !bound.wasInMemory, image?.isWaiting == false {
                unsafe cells[cell]?.isAsked = true
                askedCount += 1
            }
            let row = bound.row
            var place = graphene_rect_t()
            guard unsafe gtk_widget_get_mapped(cell) != 0, unsafe gtk_widget_compute_bounds(cell, window, &place) != 0,
                place.size.width >= 64, place.size.height >= 64
            else { continue }
            let x = Int((Double(place.origin.x) + origin.x + (Double(place.size.width) - 64) / 2).rounded())
            let y = Int((Double(place.origin.y) + origin.y + (Double(place.size.height) - 64) / 2).rounded())
            guard x >= 0, y >= 0, x + 64 <= width, y + 64 <= height else { continue }
            let seen = RowImages.read { dx, dy in
                let at = ((y + dy) * width + x + dx) * 4
                return (Int(pixels[at + 2]), Int(pixels[at + 1]), Int(pixels[at]))
            }
            switch seen {
            case .row(row): sight.right += 1
            case .row(let other): sight.wrong.append((row, other))
            case _ where image?.hasFailed == true: sight.failed += 1
            case .placeholder: sight.blank += 1
            case .other: sight.other += 1
            }
        }
        return sight
    }
}

extension RemoteImage {
    fileprivate var isLoaded: Bool { if case .loaded = state { true } else { false } }
    fileprivate var isWaiting: Bool { if case .waiting = state { true } else { false } }
    fileprivate var hasFailed: Bool { if case .failed = state { true } else { false } }
}

extension UnsafeMutablePointer<GtkWidget> {
    var window: UnsafeMutablePointer<GtkWindow> {
        unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: GtkWindow.self)
    }
}
