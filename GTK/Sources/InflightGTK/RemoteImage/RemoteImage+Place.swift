internal import CInflightGTK
package import InflightCore

extension RemoteImage {
    /// Returns the request adapted to the options and to the widget's size, or nil if the widget has no size yet.
    package func sized(_ request: ImageRequest) -> ImageRequest? {
        var request = request.forTextures()
        if !options.processors.isEmpty { request.processors += options.processors }
        let points: (width: Int, height: Int)
        switch options.size {
        case .request: return request
        case .points(let width, let height): points = (width, height)
        case .allocation:
            guard let widget = unsafe widget else { return nil }
            points = unsafe (Int(gtk_widget_get_width(widget)), Int(gtk_widget_get_height(widget)))
            guard points.width > 0, points.height > 0 else { return nil }
        }
        let fit: Resize.Fit =
            switch options.fit {
            case .contain: .contain
            case .cover: .cover
            case .fill: .fill
            }
        request.resize = .points(
            width: Double(points.width), height: Double(points.height), scale: scale, fit: fit,
            gravity: request.resize?.gravity ?? .center)
        return request
    }

    /// Lets a picture ask its parent for the size in the options, unless the program has given it another. A picture
    /// alone may shrink to nothing.
    func requestSize() {
        guard let widget = unsafe widget, let own = sizeRequest else { return }
        var current = (width: Int32(0), height: Int32(0)), wanted = (width: Int32(-1), height: Int32(-1))
        unsafe gtk_widget_get_size_request(widget, &current.width, &current.height)
        if case .points(let width, let height) = options.size {
            wanted = (Int32(clamping: width), Int32(clamping: height))
        }
        guard current == own, wanted != own else { return }
        sizeRequest = wanted
        unsafe gtk_widget_set_size_request(widget, wanted.width, wanted.height)
    }

    private var scale: Double {
        guard let widget = unsafe widget else { return 1 }
        return unsafe Double(gtk_widget_get_scale_factor(widget))
    }

    /// Checks where the widget is, once it has been laid out.
    func scheduleCheck() {
        guard let widget = unsafe widget else { return perform(machine.looked(.visible)) }
        if watch == nil { unsafe watch = ViewportObserver.above(widget) }
        guard let watch else { return checkUnscrolled() }
        watch.add(self)
    }

    /// Checks a widget outside of any scrolled window, which is visible if it is mapped.
    private func checkUnscrolled() {
        guard let widget = unsafe widget else { return }
        let isSeen = unsafe gtk_widget_get_mapped(widget) != 0
        if isSeen, asked == nil, let bound, sized(bound) == nil {
            // The widget has no size before its first layout.
            unsafe onFrames(of: widget) { _ in MainLoop.counted { !self.finishUnscrolledCheck() } }
            return
        }
        take(isSeen ? .visible : .away)
    }

    /// - Returns: whether the check is done. If not, the widget has no size yet.
    private func finishUnscrolledCheck() -> Bool {
        guard let bound, unsafe widget != nil else { return true }
        guard sized(bound) != nil else { return false }
        take(.visible)
        return true
    }

    /// Checks where the widget is in its scrolled window.
    func looked(_ room: Viewport, in window: UnsafeMutablePointer<GtkWidget>) {
        guard let widget = unsafe widget, machine.phase != .empty, !isAtRest else { return }
        guard unsafe gtk_widget_get_mapped(widget) != 0 else { return take(.away) }
        var place = graphene_rect_t()
        guard unsafe gtk_widget_compute_bounds(widget, window, &place) != 0 else { return take(.away) }
        // A cell that was bound but not laid out has no position yet.
        guard place.size.width > 0, place.size.height > 0 else { return }
        take(
            room.nearness(
                x: Double(place.origin.x), y: Double(place.origin.y), width: Double(place.size.width),
                height: Double(place.size.height)))
    }

    /// Whether the check can be skipped, because the widget's position changes nothing. A list checks hundreds of cells
    /// in every frame that moves.
    private var isAtRest: Bool {
        if case .allocation = options.size { return false }
        return machine.phase == .loaded && player == nil
    }

    private func take(_ nearness: Nearness) {
        perform(machine.looked(nearness))
        if nearness == .visible { checkSize() }
        player?.isSeen = nearness == .visible
    }

    /// Loads the image again if the widget's size differs by more than a tenth from the size that the image was made
    /// for.
    private func checkSize() {
        guard machine.phase == .loaded || machine.phase == .loading, case .allocation = options.size, let bound,
            let old = asked?.resize, let new = sized(bound), let resize = new.resize,
            let width = resize.width, let height = resize.height, let oldWidth = old.width, let oldHeight = old.height
        else { return }
        let isSame = abs(width - oldWidth) * 10 <= oldWidth && abs(height - oldHeight) * 10 <= oldHeight
        if isSame { return }
        asked = new
        perform(machine.outgrown())
    }

    func placeChanged() {
        guard let widget = unsafe widget, machine.phase != .empty else { return }
        if unsafe gtk_widget_get_mapped(widget) == 0 { return take(.away) }
        scheduleCheck()
    }
}
