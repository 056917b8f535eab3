import CInflightGTK
import Inflight
import InflightGTK

/// One image as large as the window, with previews while it loads.
@safe @MainActor
final class LargeImageView {
    let widget: UnsafeMutablePointer<GtkWidget>
    /// Called by the arrow keys, with 1 for the next image and -1 for the previous one.
    var onMove: (Int) -> Void = { _ in }
    var onClose: () -> Void = {}
    private let image: RemoteImage
    private let caption: OpaquePointer

    init(pipeline: ImagePipeline) {
        unsafe widget = unsafe gtk_overlay_new()
        unsafe gtk_widget_set_focusable(widget, 1)
        let picture = unsafe gtk_picture_new()!
        unsafe gtk_overlay_set_child(OpaquePointer(widget), picture)
        unsafe caption = unsafe OpaquePointer(gtk_label_new(nil)!)
        unsafe gtk_widget_set_valign(caption.widget, GTK_ALIGN_END)
        unsafe gtk_widget_add_css_class(caption.widget, "osd")
        unsafe gtk_label_set_ellipsize(caption, PANGO_ELLIPSIZE_MIDDLE)
        unsafe gtk_overlay_add_overlay(OpaquePointer(widget), caption.widget)
        image = RemoteImage(pipeline: pipeline)
        image.options.fit = .contain
        unsafe image.attach(picture: OpaquePointer(picture))
        image.onChange = { [weak self] _ in self?.tell() }
        addKeys()
    }

    private var url = ""

    func show(_ url: String) {
        self.url = url
        var request = ImageRequest(url)
        request.previews = ImageRequest.PreviewOptions()
        image.bind(request, description: url)
        tell()
    }

    func hide() { image.unbind() }

    private func tell() {
        let text =
            switch image.state {
            case .failed(let error): "\(url)\n\(error.message)"
            case .loading(let progress?): "\(url)  \(progress.fraction.map { "\(Int($0 * 100)) %" } ?? "")"
            default: url
            }
        unsafe gtk_label_set_text(caption, text)
    }

    private func addKeys() {
        let keys: [(guint, @MainActor (LargeImageView) -> Void)] = [
            (guint(GDK_KEY_Left), { $0.onMove(-1) }), (guint(GDK_KEY_Right), { $0.onMove(1) }),
            (guint(GDK_KEY_space), { $0.onMove(1) }), (guint(GDK_KEY_Escape), { $0.onClose() }),
            (guint(GDK_KEY_BackSpace), { $0.onClose() }), (guint(GDK_KEY_r), { $0.image.retry() }),
        ]
        let controller = unsafe gtk_shortcut_controller_new()!
        for (key, body) in keys {
            let handler = KeyHandler { [weak self] in self.map(body) }
            let action = unsafe gtk_callback_action_new(
                { _, _, data in
                    let handler = unsafe Unmanaged<KeyHandler>.fromOpaque(data!).takeUnretainedValue()
                    MainActor.assumeIsolated { handler.body() }
                    return gboolean(1)
                }, unsafe Unmanaged.passRetained(handler).toOpaque(),
                { unsafe Unmanaged<KeyHandler>.fromOpaque($0!).release() })
            let shortcut = unsafe gtk_shortcut_new(gtk_keyval_trigger_new(key, GdkModifierType(rawValue: 0)), action)
            unsafe gtk_shortcut_controller_add_shortcut(controller, shortcut)
        }
        unsafe gtk_widget_add_controller(widget, controller)
    }

    private final class KeyHandler {
        let body: @MainActor () -> Void
        init(_ body: @escaping @MainActor () -> Void) {
            self.body = body
        }
    }
}
