// The program of Documentation/GettingStarted.md, which `GTKChecks` starts. Scripts/Tests compares the two texts.

import CInflightGTK  // GTK's C interface
import Inflight
import InflightGTK

/// Returns a grid of images of 128 × 128 points, in a window that scrolls.
@MainActor func grid(of urls: [String]) -> UnsafeMutablePointer<GtkWidget> {
    let rows = gtk_string_list_new(nil)!
    for url in urls { gtk_string_list_append(rows, url) }
    let factory = CellFactory { item in
        let picture = gtk_picture_new()!
        let image = RemoteImage(pipeline: .shared)
        image.options.size = .points(width: 128, height: 128)
        image.attach(picture: OpaquePointer(picture))
        gtk_list_item_set_child(item, picture)
    } bind: { item in
        let url = urls[Int(gtk_list_item_get_position(item))]
        RemoteImage.attached(to: gtk_list_item_get_child(item))?.bind(ImageRequest(url))
    } unbind: { item in
        RemoteImage.attached(to: gtk_list_item_get_child(item))?.unbind()
    }
    let scrolled = gtk_scrolled_window_new()!
    gtk_scrolled_window_set_child(
        OpaquePointer(scrolled), gtk_grid_view_new(gtk_no_selection_new(rows), factory.pointer))
    return scrolled
}

let application = gtk_application_new("org.example.Photos", G_APPLICATION_NON_UNIQUE)!
connectSignal(application, "activate") {
    let window = UnsafeMutableRawPointer(gtk_application_window_new(application)!)
        .assumingMemoryBound(to: GtkWindow.self)
    gtk_window_set_default_size(window, 720, 600)
    gtk_window_set_child(window, grid(of: Array(CommandLine.arguments.dropFirst())))
    gtk_window_present(window)
}
MainLoop.attach()
g_application_run(UnsafeMutableRawPointer(application).assumingMemoryBound(to: GApplication.self), 0, nil)
