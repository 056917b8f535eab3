import CInflightGTK
import Inflight
import InflightGTK

/// The only window: a header with the search, and below it the grid or one large image.
@safe @MainActor
final class GalleryWindow {
    private let window: UnsafeMutablePointer<GtkWidget>
    private let stack: OpaquePointer
    private let grid: ImageGrid
    private let large: LargeImageView
    private let search: UnsafeMutablePointer<GtkWidget>
    private let overlay: EngineOverlay
    private let title: OpaquePointer
    private var isDark: Bool

    init(
        application: UnsafeMutablePointer<GtkApplication>, pipeline: ImagePipeline, urls: [String],
        options: GalleryOptions
    ) {
        unsafe window = unsafe gtk_application_window_new(application)
        unsafe stack = unsafe OpaquePointer(gtk_stack_new()!)
        grid = ImageGrid(pipeline: pipeline, urls: urls, size: options.size)
        large = LargeImageView(pipeline: pipeline)
        unsafe search = unsafe gtk_search_entry_new()
        overlay = EngineOverlay(pipeline: pipeline)
        unsafe title = unsafe OpaquePointer(gtk_label_new(nil)!)
        isDark = options.isDark
        build()
        unsafe addActions(to: application)
        inflight_set_dark(isDark ? 1 : 0)
        unsafe gtk_widget_show(window)
        unsafe gtk_widget_grab_focus(grid.view)
    }

    private func build() {
        unsafe gtk_window_set_title(window.window, "Inflight Gallery")
        unsafe gtk_window_set_icon_name(window.window, "org.inflight.Gallery")
        unsafe gtk_window_set_default_size(window.window, 960, 720)
        let header = unsafe gtk_header_bar_new()!
        unsafe gtk_header_bar_set_title_widget(OpaquePointer(header), search)
        unsafe gtk_search_entry_set_key_capture_widget(OpaquePointer(search), nil)
        unsafe gtk_widget_set_size_request(search, 260, -1)
        unsafe inflight_set_description(search, "Search in the addresses")
        unsafe gtk_header_bar_pack_start(OpaquePointer(header), title.widget)
        for (icon, action, tip) in [
            ("zoom-in-symbolic", "win.zoom-in", "Larger (Ctrl-plus)"),
            ("zoom-out-symbolic", "win.zoom-out", "Smaller (Ctrl-minus)"),
            ("weather-clear-night-symbolic", "win.dark", "Dark or light (Ctrl-L)"),
        ] {
            let button = unsafe gtk_button_new_from_icon_name(icon)!
            unsafe gtk_actionable_set_action_name(OpaquePointer(button), action)
            unsafe gtk_widget_set_tooltip_text(button, tip)
            unsafe inflight_set_description(button, tip)
            unsafe gtk_header_bar_pack_end(OpaquePointer(header), button)
        }
        unsafe gtk_window_set_titlebar(window.window, header)

        _ = unsafe gtk_stack_add_named(stack, grid.widget, "grid")
        _ = unsafe gtk_stack_add_named(stack, large.widget, "large")
        unsafe gtk_stack_set_transition_type(stack, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        let layers = unsafe gtk_overlay_new()!
        unsafe gtk_overlay_set_child(OpaquePointer(layers), stack.widget)
        unsafe gtk_overlay_add_overlay(OpaquePointer(layers), overlay.widget)
        unsafe gtk_window_set_child(window.window, layers)

        unsafe connectSignal(UnsafeMutableRawPointer(search), "search-changed") { [weak self] in self?.searched() }
        unsafe connectSignal(UnsafeMutableRawPointer(search), "stop-search") { [weak self] in self?.stopSearch() }
        unsafe connectSignal(UnsafeMutableRawPointer(search), "activate") { [weak self] in self?.grid.focus() }
        unsafe connectSignal(UnsafeMutableRawPointer(grid.view), "activate") { [weak self] in self?.showLarge() }
        unsafe connectSignal(UnsafeMutableRawPointer(window), "notify::default-width") { [weak self] in
            guard let self else { return }
            // The function writes both values, even if only one is needed.
            var (width, height) = (Int32(0), Int32(0))
            unsafe gtk_window_get_default_size(self.window.window, &width, &height)
            if width > 0 { self.grid.fit(width: Int(width)) }
        }
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
            ("close", ["<Control>q", "<Control>w"], { unsafe gtk_window_close($0.window.window) }),
        ]
        for (name, keys, body) in actions {
            let action = unsafe g_simple_action_new(name, nil)!
            unsafe connectSignal(UnsafeMutableRawPointer(action), "activate") { [weak self] in self.map(body) }
            unsafe g_action_map_add_action(OpaquePointer(window), action)
            unsafe g_object_unref(UnsafeMutableRawPointer(action))
            var accelerators = unsafe keys.map { unsafe UnsafePointer<CChar>(g_strdup($0)) }
            unsafe accelerators.append(nil)
            unsafe gtk_application_set_accels_for_action(application, "win.\(name)", &accelerators)
            unsafe accelerators.forEach { unsafe g_free(UnsafeMutableRawPointer(mutating: $0)) }
        }
    }

    private func startSearch() {
        showGrid()
        unsafe gtk_widget_grab_focus(search)
    }

    private func searched() {
        grid.filter = unsafe String(cString: gtk_editable_get_text(OpaquePointer(search)))
        tellCount()
    }

    private func stopSearch() {
        unsafe gtk_editable_set_text(OpaquePointer(search), "")
        grid.focus()
    }

    private func tellCount() {
        unsafe gtk_label_set_text(title, grid.count == 1 ? "1 picture" : "\(grid.count) pictures")
    }

    private func toggleDark() {
        isDark.toggle()
        inflight_set_dark(isDark ? 1 : 0)
    }

    private func showLarge() {
        guard let url = grid.selectedURL else { return }
        large.show(url)
        unsafe gtk_stack_set_visible_child_name(stack, "large")
        unsafe gtk_widget_grab_focus(large.widget)
    }

    private func showGrid() {
        unsafe gtk_stack_set_visible_child_name(stack, "grid")
        large.hide()
        grid.focus()
    }

    private func move(_ step: Int) {
        grid.select(by: step)
        if let url = grid.selectedURL { large.show(url) }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    var window: UnsafeMutablePointer<GtkWindow> {
        unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: GtkWindow.self)
    }
}

extension OpaquePointer {
    var widget: UnsafeMutablePointer<GtkWidget> { unsafe UnsafeMutablePointer(self) }
}
