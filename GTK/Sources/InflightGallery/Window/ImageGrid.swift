import CInflightGTK
import Inflight
import InflightGTK

/// The grid of thumbnails, which are loaded as they become visible.
@safe @MainActor
final class ImageGrid {
    let widget: UnsafeMutablePointer<GtkWidget>
    let view: UnsafeMutablePointer<GtkWidget>
    private let pipeline: ImagePipeline
    private let selection: OpaquePointer
    private let stringFilter: OpaquePointer
    private var size: Int
    private static let sizes = [48, 64, 96, 128, 192, 256, 384, 512]

    init(pipeline: ImagePipeline, urls: [String], size: Int) {
        self.pipeline = pipeline
        self.size = size
        let list = unsafe gtk_string_list_new(nil)!
        for url in urls { unsafe gtk_string_list_append(list, url) }
        unsafe stringFilter = unsafe gtk_string_filter_new(
            gtk_property_expression_new(gtk_string_object_get_type(), nil, "string"))
        unsafe gtk_string_filter_set_match_mode(stringFilter, GTK_STRING_FILTER_MATCH_MODE_SUBSTRING)
        let filtered = unsafe gtk_filter_list_model_new(list, UnsafeMutablePointer(stringFilter))!
        unsafe selection = unsafe gtk_single_selection_new(filtered)
        unsafe view = unsafe gtk_grid_view_new(selection, nil)
        unsafe inflight_set_description(view, "Pictures")
        unsafe widget = unsafe gtk_scrolled_window_new()
        unsafe gtk_scrolled_window_set_child(OpaquePointer(widget), view)
        setFactory()
        fit(width: 960)
    }

    /// Allows only as many columns as fit, because a grid creates cells for thirty rows of its maximum columns.
    func fit(width: Int) {
        self.width = width
        unsafe gtk_grid_view_set_max_columns(OpaquePointer(view), guint(max(1, width / size)))
    }

    private var width = 0

    var count: Int { unsafe Int(g_list_model_get_n_items(selection)) }

    var filter = "" {
        didSet {
            settle()
            unsafe gtk_string_filter_set_search(stringFilter, filter)
        }
    }

    var selectedURL: String? {
        guard let item = unsafe gtk_single_selection_get_selected_item(selection) else { return nil }
        return unsafe String(cString: gtk_string_object_get_string(OpaquePointer(item)))
    }

    func select(by step: Int) {
        let now = unsafe Int(gtk_single_selection_get_selected(selection))
        unsafe gtk_single_selection_set_selected(selection, guint(max(0, min(count - 1, now + step))))
    }

    func focus() { unsafe gtk_widget_grab_focus(view) }

    func zoom(_ step: Int) {
        let next = step > 0 ? Self.sizes.first { $0 > size } : Self.sizes.last { $0 < size }
        guard let next else { return }
        size = next
        setFactory()
        fit(width: width)
        settle()
    }

    /// After a change of row height or items, GTK 4.8 keeps cells around the item that had the focus instead of the
    /// visible ones, until it scrolls. So this scrolls by a pixel and back, once the new rows are laid out.
    private func settle() {
        guard !isSettling else { return }
        isSettling = true
        after(milliseconds: 50, priority: G_PRIORITY_LOW) {
            self.nudge()
            return false
        }
    }

    private func nudge() {
        isSettling = false
        let adjustment = unsafe gtk_scrolled_window_get_vadjustment(OpaquePointer(widget))
        let value = unsafe gtk_adjustment_get_value(adjustment)
        unsafe gtk_adjustment_set_value(adjustment, value + (value > 0 ? -1 : 1))
        unsafe gtk_adjustment_set_value(adjustment, value)
    }

    private var isSettling = false

    /// Retries the failed loads of all bound cells.
    func retryAll() {
        for image in images.compactMap(\.image) { image.retry() }
    }

    private struct Weak { weak var image: RemoteImage? }
    private var images: [Weak] = []

    // MARK: Cells

    private func setFactory() {
        images = []
        let size = size
        let factory = unsafe CellFactory { [weak self, pipeline] item in
            let cell = Cell(pipeline: pipeline, size: size)
            self?.images.append(Weak(image: cell.image))
            unsafe gtk_list_item_set_child(item, cell.widget)
        } bind: { item in
            guard let cell = unsafe gtk_list_item_get_child(item), let string = unsafe gtk_list_item_get_item(item)
            else { return }
            unsafe Cell.image(of: cell)?.show(String(cString: gtk_string_object_get_string(OpaquePointer(string))))
        } unbind: { item in
            if let cell = unsafe gtk_list_item_get_child(item) { unsafe Cell.image(of: cell)?.unbind() }
        }
        unsafe gtk_grid_view_set_factory(OpaquePointer(view), factory.pointer)
        unsafe g_object_unref(UnsafeMutableRawPointer(factory.pointer))
    }
}

/// An image, and below it the reason if its load failed.
@safe @MainActor
private struct Cell {
    let widget: UnsafeMutablePointer<GtkWidget>
    let image: RemoteImage

    init(pipeline: ImagePipeline, size: Int) {
        unsafe widget = unsafe gtk_overlay_new()
        unsafe gtk_widget_set_size_request(widget, Int32(size), Int32(size))
        let picture = unsafe gtk_picture_new()!
        unsafe gtk_overlay_set_child(OpaquePointer(widget), picture)
        let label = unsafe OpaquePointer(gtk_label_new(nil)!)
        unsafe gtk_widget_set_valign(label.widget, GTK_ALIGN_END)
        unsafe gtk_widget_add_css_class(label.widget, "caption")
        unsafe gtk_label_set_ellipsize(label, PANGO_ELLIPSIZE_END)
        unsafe gtk_overlay_add_overlay(OpaquePointer(widget), label.widget)
        image = RemoteImage(pipeline: pipeline)
        image.options.size = .points(width: size, height: size)
        unsafe image.attach(picture: OpaquePointer(picture))
        image.onChange = { image in
            if case .failed(let error) = image.state {
                unsafe gtk_label_set_text(
                    label, error.status.map { "\(error.code.rawValue) \($0)" } ?? error.code.rawValue)
            } else {
                unsafe gtk_label_set_text(label, nil)
            }
        }
    }

    static func image(of widget: UnsafeMutablePointer<GtkWidget>) -> RemoteImage? {
        unsafe gtk_overlay_get_child(OpaquePointer(widget)).flatMap { unsafe RemoteImage.attached(to: $0) }
    }
}

extension RemoteImage {
    /// Binds to a row's URL, over a grey that suits light and dark themes.
    fileprivate func show(_ url: String) {
        let name = url.split(separator: "/").last.map(String.init) ?? url
        bind(
            ImageRequest(url), placeholder: .color(PixelColor(red: 128, green: 128, blue: 128, alpha: 60)),
            description: name)
        onChange?(self)
    }
}
