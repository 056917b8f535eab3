import CInflightGTK
import Inflight
import InflightGTK

/// One picture as large as the window, with what there is of it while it loads.
@MainActor
final class LargePicture {
    let widget: UnsafeMutablePointer<GtkWidget>
    /// The arrow keys: 1 for the next, -1 for the one before.
    var onMove: (Int) -> Void = { _ in }
    var onClose: () -> Void = {}
    private let image: RemoteImage
    private let caption: OpaquePointer

    init(pipeline: ImagePipeline) {
        widget = gtk_overlay_new()
        gtk_widget_set_focusable(widget, 1)
        let picture = gtk_picture_new()!
        gtk_overlay_set_child(OpaquePointer(widget), picture)
        caption = OpaquePointer(gtk_label_new(nil)!)
        gtk_widget_set_valign(caption.widget, GTK_ALIGN_END)
        gtk_widget_add_css_class(caption.widget, "osd")
        gtk_label_set_ellipsize(caption, PANGO_ELLIPSIZE_MIDDLE)
        gtk_overlay_add_overlay(OpaquePointer(widget), caption.widget)
        image = RemoteImage(pipeline: pipeline)
        image.options.fit = .contain
        image.attach(picture: OpaquePointer(picture))
        image.onChange = { [weak self] _ in self?.tell() }
        addKeys()
    }

    private var url = ""

    func show(_ url: String) {
        self.url = url
        var request = ImageRequest(url)
        request.previews = PreviewOptions()
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
        gtk_label_set_text(caption, text)
    }

    private func addKeys() {
        let keys: [(guint, @MainActor (LargePicture) -> Void)] = [
            (guint(GDK_KEY_Left), { $0.onMove(-1) }), (guint(GDK_KEY_Right), { $0.onMove(1) }),
            (guint(GDK_KEY_space), { $0.onMove(1) }), (guint(GDK_KEY_Escape), { $0.onClose() }),
            (guint(GDK_KEY_BackSpace), { $0.onClose() }), (guint(GDK_KEY_r), { $0.image.retry() }),
        ]
        let controller = gtk_shortcut_controller_new()!
        for (key, body) in keys {
            let handler = KeyHandler { [weak self] in self.map(body) }
            let action = gtk_callback_action_new(
                { _, _, data in
                    let handler = Unmanaged<KeyHandler>.fromOpaque(data!).takeUnretainedValue()
                    MainActor.assumeIsolated { handler.body() }
                    return gboolean(1)
                }, Unmanaged.passRetained(handler).toOpaque(), { Unmanaged<KeyHandler>.fromOpaque($0!).release() })
            let shortcut = gtk_shortcut_new(gtk_keyval_trigger_new(key, GdkModifierType(rawValue: 0)), action)
            gtk_shortcut_controller_add_shortcut(controller, shortcut)
        }
        gtk_widget_add_controller(widget, controller)
    }

    private final class KeyHandler {
        let body: @MainActor () -> Void
        init(_ body: @escaping @MainActor () -> Void) {
            self.body = body
        }
    }
}
