import CInflightGTK
import Inflight
import InflightGTK

/// The one window: a header with the search, the grid below, or one picture large.
@MainActor
final class GalleryWindow {
    private let window: UnsafeMutablePointer<GtkWidget>
    private let stack: OpaquePointer
    private let grid: PictureGrid
    private let large: LargePicture
    private let search: UnsafeMutablePointer<GtkWidget>
    private let overlay: EngineOverlay
    private let title: OpaquePointer
    private var isDark: Bool

    init(application: UnsafeMutablePointer<GtkApplication>, pipeline: ImagePipeline, urls: [String], options: GalleryOptions) {
        window = gtk_application_window_new(application)
        stack = OpaquePointer(gtk_stack_new()!)
        grid = PictureGrid(pipeline: pipeline, urls: urls, size: options.size)
        large = LargePicture(pipeline: pipeline)
        search = gtk_search_entry_new()
        overlay = EngineOverlay(pipeline: pipeline)
        title = OpaquePointer(gtk_label_new(nil)!)
        isDark = options.isDark
        build()
        addActions(to: application)
        inflight_set_dark(isDark ? 1 : 0)
        gtk_widget_show(window)
        gtk_widget_grab_focus(grid.view)
    }

    private func build() {
        gtk_window_set_title(window.window, "Inflight Gallery")
        gtk_window_set_icon_name(window.window, "org.inflight.Gallery")
        gtk_window_set_default_size(window.window, 960, 720)
        let header = gtk_header_bar_new()!
        gtk_header_bar_set_title_widget(OpaquePointer(header), search)
        gtk_search_entry_set_key_capture_widget(OpaquePointer(search), nil)
        gtk_widget_set_size_request(search, 260, -1)
        inflight_set_description(search, "Search in the addresses")
        gtk_header_bar_pack_start(OpaquePointer(header), title.widget)
        for (icon, action, tip) in [
            ("zoom-in-symbolic", "win.zoom-in", "Larger (Ctrl-plus)"),
            ("zoom-out-symbolic", "win.zoom-out", "Smaller (Ctrl-minus)"),
            ("weather-clear-night-symbolic", "win.dark", "Dark or light (Ctrl-L)"),
        ] {
            let button = gtk_button_new_from_icon_name(icon)!
            gtk_actionable_set_action_name(OpaquePointer(button), action)
            gtk_widget_set_tooltip_text(button, tip)
            inflight_set_description(button, tip)
            gtk_header_bar_pack_end(OpaquePointer(header), button)
        }
        gtk_window_set_titlebar(window.window, header)

        _ = gtk_stack_add_named(stack, grid.widget, "grid")
        _ = gtk_stack_add_named(stack, large.widget, "large")
        gtk_stack_set_transition_type(stack, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        let layers = gtk_overlay_new()!
        gtk_overlay_set_child(OpaquePointer(layers), stack.widget)
        gtk_overlay_add_overlay(OpaquePointer(layers), overlay.widget)
        gtk_window_set_child(window.window, layers)

        connectSignal(UnsafeMutableRawPointer(search), "search-changed") { [weak self] in self?.searched() }
        connectSignal(UnsafeMutableRawPointer(search), "stop-search") { [weak self] in self?.stopSearch() }
        connectSignal(UnsafeMutableRawPointer(search), "activate") { [weak self] in self?.grid.focus() }
        connectSignal(UnsafeMutableRawPointer(grid.view), "activate") { [weak self] in self?.showLarge() }
        large.onMove = { [weak self] step in self?.move(step) }
        large.onClose = { [weak self] in self?.showGrid() }
        tellCount()
    }

    private func addActions(to application: UnsafeMutablePointer<GtkApplication>) {
        let actions: [(name: String, keys: [String], body: @MainActor (GalleryWindow) -> Void)] = [
            ("search", ["<Control>f", "slash"], { $0.startSearch() }),
            ("zoom-in", ["<Control>plus", "<Control>equal", "<Control>KP_Add"], { $0.grid.zoom(1) }),
            ("zoom-out", ["<Control>minus", "<Control>KP_Subtract"], { $0.grid.zoom(-1) }),
            ("overlay", ["<Control>d"], { $0.overlay.toggle() }),
            ("dark", ["<Control>l"], { $0.toggleDark() }),
            ("retry", ["<Control>r"], { $0.grid.retryAll() }),
            ("close", ["<Control>q", "<Control>w"], { gtk_window_close($0.window.window) }),
        ]
        for (name, keys, body) in actions {
            let action = g_simple_action_new(name, nil)!
            connectSignal(UnsafeMutableRawPointer(action), "activate") { [weak self] in self.map(body) }
            g_action_map_add_action(OpaquePointer(window), action)
            g_object_unref(UnsafeMutableRawPointer(action))
            var accelerators = keys.map { UnsafePointer<CChar>(g_strdup($0)) } + [nil]
            gtk_application_set_accels_for_action(application, "win.\(name)", &accelerators)
            for accelerator in accelerators { g_free(UnsafeMutableRawPointer(mutating: accelerator)) }
        }
    }

    private func startSearch() {
        showGrid()
        gtk_widget_grab_focus(search)
    }

    private func searched() {
        grid.filter = String(cString: gtk_editable_get_text(OpaquePointer(search)))
        tellCount()
    }

    private func stopSearch() {
        gtk_editable_set_text(OpaquePointer(search), "")
        grid.focus()
    }

    private func tellCount() {
        gtk_label_set_text(title, grid.count == 1 ? "1 picture" : "\(grid.count) pictures")
    }

    private func toggleDark() {
        isDark.toggle()
        inflight_set_dark(isDark ? 1 : 0)
    }

    private func showLarge() {
        guard let url = grid.selectedURL else { return }
        large.show(url)
        gtk_stack_set_visible_child_name(stack, "large")
        gtk_widget_grab_focus(large.widget)
    }

    private func showGrid() {
        gtk_stack_set_visible_child_name(stack, "grid")
        large.hide()
        grid.focus()
    }

    private func move(_ step: Int) {
        grid.select(by: step)
        if let url = grid.selectedURL { large.show(url) }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    var window: UnsafeMutablePointer<GtkWindow> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: GtkWindow.self) }
}

extension OpaquePointer {
    var widget: UnsafeMutablePointer<GtkWidget> { UnsafeMutablePointer(self) }
}
