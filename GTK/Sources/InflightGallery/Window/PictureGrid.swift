import CInflightGTK
import Inflight
import InflightGTK

/// All pictures, small, of which those are loaded that are seen.
@MainActor
final class PictureGrid {
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
        let list = gtk_string_list_new(nil)!
        for url in urls { gtk_string_list_append(list, url) }
        stringFilter = gtk_string_filter_new(gtk_property_expression_new(gtk_string_object_get_type(), nil, "string"))
        gtk_string_filter_set_match_mode(stringFilter, GTK_STRING_FILTER_MATCH_MODE_SUBSTRING)
        let filtered = gtk_filter_list_model_new(list, UnsafeMutablePointer(stringFilter))!
        selection = gtk_single_selection_new(filtered)
        view = gtk_grid_view_new(selection, nil)
        gtk_grid_view_set_max_columns(OpaquePointer(view), 64)
        inflight_set_description(view, "Pictures")
        widget = gtk_scrolled_window_new()
        gtk_scrolled_window_set_child(OpaquePointer(widget), view)
        setFactory()
    }

    var count: Int { Int(g_list_model_get_n_items(selection)) }

    var filter = "" {
        didSet { gtk_string_filter_set_search(stringFilter, filter) }
    }

    var selectedURL: String? {
        guard let item = gtk_single_selection_get_selected_item(selection) else { return nil }
        return String(cString: gtk_string_object_get_string(OpaquePointer(item)))
    }

    func select(by step: Int) {
        let now = Int(gtk_single_selection_get_selected(selection))
        gtk_single_selection_set_selected(selection, guint(max(0, min(count - 1, now + step))))
    }

    func focus() { gtk_widget_grab_focus(view) }

    func zoom(_ step: Int) {
        let next = step > 0 ? Self.sizes.first { $0 > size } : Self.sizes.last { $0 < size }
        guard let next else { return }
        size = next
        setFactory()
    }

    /// Tries again what has failed among those that are bound.
    func retryAll() {
        for image in images.compactMap(\.image) { image.retry() }
    }

    private struct Weak { weak var image: RemoteImage? }
    private var images: [Weak] = []

    // MARK: Cells

    private func setFactory() {
        images = []
        let size = size
        let factory = CellFactory { [weak self, pipeline] item in
            let cell = Cell(pipeline: pipeline, size: size)
            self?.images.append(Weak(image: cell.image))
            gtk_list_item_set_child(item, cell.widget)
        } bind: { item in
            guard let cell = gtk_list_item_get_child(item), let string = gtk_list_item_get_item(item) else { return }
            Cell.image(of: cell)?.show(String(cString: gtk_string_object_get_string(OpaquePointer(string))))
        } unbind: { item in
            if let cell = gtk_list_item_get_child(item) { Cell.image(of: cell)?.unbind() }
        }
        gtk_grid_view_set_factory(OpaquePointer(view), factory.pointer)
        g_object_unref(UnsafeMutableRawPointer(factory.pointer))
    }
}

/// A picture, and below it why there is none, where there is none.
@MainActor
private struct Cell {
    let widget: UnsafeMutablePointer<GtkWidget>
    let image: RemoteImage

    init(pipeline: ImagePipeline, size: Int) {
        widget = gtk_overlay_new()
        gtk_widget_set_size_request(widget, Int32(size), Int32(size))
        let picture = gtk_picture_new()!
        gtk_overlay_set_child(OpaquePointer(widget), picture)
        let label = OpaquePointer(gtk_label_new(nil)!)
        gtk_widget_set_valign(label.widget, GTK_ALIGN_END)
        gtk_widget_add_css_class(label.widget, "caption")
        gtk_label_set_ellipsize(label, PANGO_ELLIPSIZE_END)
        gtk_overlay_add_overlay(OpaquePointer(widget), label.widget)
        image = RemoteImage(pipeline: pipeline)
        image.options.size = .points(width: size, height: size)
        image.attach(picture: OpaquePointer(picture))
        image.onChange = { image in
            if case .failed(let error) = image.state {
                gtk_label_set_text(label, error.status.map { "\(error.code.rawValue) \($0)" } ?? error.code.rawValue)
            } else {
                gtk_label_set_text(label, nil)
            }
        }
    }

    static func image(of widget: UnsafeMutablePointer<GtkWidget>) -> RemoteImage? {
        gtk_overlay_get_child(OpaquePointer(widget)).flatMap { RemoteImage.attached(to: $0) }
    }
}

extension RemoteImage {
    /// Binds to a row's URL, over a grey that goes with dark and light.
    fileprivate func show(_ url: String) {
        let name = url.split(separator: "/").last.map(String.init) ?? url
        bind(
            ImageRequest(url), placeholder: .color(PixelColor(red: 128, green: 128, blue: 128, alpha: 60)),
            description: name)
        onChange?(self)
    }
}
