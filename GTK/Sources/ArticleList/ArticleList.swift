// The list of Documentation/GettingStarted.md, which `GTKChecks` shows. Scripts/Tests compares the two texts.

import CInflightGTK  // GTK's C interface
import Inflight
import InflightGTK

@MainActor public func grid(of urls: [String]) -> UnsafeMutablePointer<GtkWidget> {
    let rows = gtk_string_list_new(nil)!
    for url in urls { gtk_string_list_append(rows, url) }
    let factory = CellFactory { item in
        let picture = gtk_picture_new()!
        gtk_widget_set_size_request(picture, 128, 128)
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
