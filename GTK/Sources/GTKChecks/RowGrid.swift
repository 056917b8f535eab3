import CInflightGTK
import CXPixels
import Inflight
import InflightGTK

/// A window with a grid of rows, each cell a remote image of its row's picture.
@safe @MainActor
final class RowGrid {
    let window: UnsafeMutablePointer<GtkWidget>
    private let scrolled: UnsafeMutablePointer<GtkWidget>
    private let pipeline: ImagePipeline
    private(set) var bindCount = 0
    /// What each bind took on the main thread, in microseconds.
    private(set) var bindTimes: [Double] = []
    /// The row that each cell stands for now.
    private var cells: [UnsafeMutablePointer<GtkWidget>: Int] = unsafe [:]
    private var pixels: [UInt8] = []

    static let size = (width: 720, height: 600)

    init(
        rows: Int, pipeline: ImagePipeline, request: @escaping @MainActor (Int) -> ImageRequest,
        configure: @escaping @MainActor (inout RemoteImage.Options) -> Void
    ) {
        self.pipeline = pipeline
        unsafe window = unsafe gtk_window_new()
        unsafe gtk_window_set_decorated(window.window, 0)
        unsafe gtk_window_set_default_size(window.window, Int32(Self.size.width), Int32(Self.size.height))
        unsafe scrolled = unsafe gtk_scrolled_window_new()
        let list = unsafe gtk_string_list_new(nil)!
        for row in 0..<rows { unsafe gtk_string_list_append(list, "\(row)") }
        let factory = unsafe CellFactory { item in
            let picture = unsafe gtk_picture_new()!
            let image = RemoteImage(pipeline: pipeline)
            image.options.size = .points(width: RowPictures.side, height: RowPictures.side)
            image.options.fit = .contain
            configure(&image.options)
            unsafe image.attach(picture: OpaquePointer(picture))
            unsafe gtk_widget_set_size_request(picture, Int32(RowPictures.side), Int32(RowPictures.side))
            unsafe gtk_widget_set_halign(picture, GTK_ALIGN_CENTER)
            unsafe gtk_widget_set_valign(picture, GTK_ALIGN_CENTER)
            unsafe gtk_list_item_set_child(item, picture)
        } bind: { [weak self] item in
            let picture = unsafe gtk_list_item_get_child(item)!
            let row = unsafe Int(gtk_list_item_get_position(item))
            self?.bindCount += 1
            unsafe self?.cells[picture] = row
            let request = request(row)
            let grey = PixelColor(red: 128, green: 128, blue: 128)
            let took = ContinuousClock().measure {
                unsafe RemoteImage.attached(to: picture)?.bind(request, placeholder: .color(grey))
            }
            self?.bindTimes.append(took / .microseconds(1))
        } unbind: { [weak self] item in
            guard let picture = unsafe gtk_list_item_get_child(item) else { return }
            unsafe self?.cells[picture] = nil
            unsafe RemoteImage.attached(to: picture)?.unbind()
        }
        let selection = unsafe gtk_no_selection_new(list)
        let grid = unsafe gtk_grid_view_new(selection, factory.pointer)!
        unsafe gtk_grid_view_set_min_columns(OpaquePointer(grid), 8)
        unsafe gtk_grid_view_set_max_columns(OpaquePointer(grid), 8)
        unsafe gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid)
        unsafe gtk_window_set_child(window.window, scrolled)
        unsafe gtk_widget_show(window)
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

    // MARK: What is seen

    /// Calls `body` with each row of which something is seen, and whether its picture is there.
    func visible(_ body: (_ row: Int, _ isLoaded: Bool) -> Void) {
        for unsafe(cell, row) in unsafe cells {
            var place = graphene_rect_t()
            guard unsafe gtk_widget_get_mapped(cell) != 0,
                unsafe gtk_widget_compute_bounds(cell, scrolled, &place) != 0,
                place.size.height > 0, place.origin.y + place.size.height > 0,
                unsafe Int32(place.origin.y) < gtk_widget_get_height(scrolled)
            else { continue }
            let isLoaded = if case .loaded = unsafe RemoteImage.attached(to: cell)?.state { true } else { false }
            body(row, isLoaded)
        }
    }

    struct Sight {
        var right = 0, blank = 0, other = 0
        var wrong: [(row: Int, seen: Int)] = []
        var visible: Int { right + blank + other + wrong.count }
    }

    /// What the X server shows in each cell that is seen whole.
    func look() -> Sight? {
        let (width, height) = unsafe (Int(gtk_widget_get_width(window)), Int(gtk_widget_get_height(window)))
        if pixels.count < width * height * 4 { pixels = [UInt8](repeating: 0, count: width * height * 4) }
        let read = unsafe pixels.withUnsafeMutableBufferPointer {
            unsafe Int(x_pixels_read(window, $0.baseAddress!, Int32(width), Int32(height)))
        }
        guard read == width else { return nil }
        var sight = Sight()
        var origin = (x: 0.0, y: 0.0)
        unsafe x_pixels_origin(window, &origin.x, &origin.y)
        for unsafe(cell, row) in unsafe cells {
            var place = graphene_rect_t()
            guard unsafe gtk_widget_get_mapped(cell) != 0, unsafe gtk_widget_compute_bounds(cell, window, &place) != 0,
                place.size.width >= 64, place.size.height >= 64
            else { continue }
            let x = Int((Double(place.origin.x) + origin.x + (Double(place.size.width) - 64) / 2).rounded())
            let y = Int((Double(place.origin.y) + origin.y + (Double(place.size.height) - 64) / 2).rounded())
            guard x >= 0, y >= 0, x + 64 <= width, y + 64 <= height else { continue }
            let seen = RowPictures.read { dx, dy in
                let at = ((y + dy) * width + x + dx) * 4
                return (Int(pixels[at + 2]), Int(pixels[at + 1]), Int(pixels[at]))
            }
            switch seen {
            case .row(row): sight.right += 1
            case .row(let other): sight.wrong.append((row, other))
            case .placeholder: sight.blank += 1
            case .other: sight.other += 1
            }
        }
        return sight
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    var window: UnsafeMutablePointer<GtkWindow> {
        unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: GtkWindow.self)
    }
}
