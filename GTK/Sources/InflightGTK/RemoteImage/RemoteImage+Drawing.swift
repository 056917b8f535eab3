internal import CInflightGTK
internal import InflightCore

extension RemoteImage {
    /// The state that changes from frame to frame, and whether a tick callback is installed.
    struct Drawing {
        var spins = false
        /// The time at which the fade began, in microseconds of the frame clock, or nil before its first frame.
        var fadeBegan: Int64?
        var isFading = false
        var isTicking = false
        var hasTooltip = false
    }

    func showPlaceholder(_ placeholder: Placeholder) {
        self.placeholder = nil
        drawing.isFading = false
        hideTooltip()
        switch placeholder {
        case .none: drawPlaceholder(nil, nil, alone: true)
        case .color(let color): drawPlaceholder(color, nil, alone: true)
        case .image(let pixels): drawPlaceholder(nil, TextureCache.texture(of: pixels), alone: true)
        case .blurHash(let hash): blur(hash.averageColor, of: hash.text) { hash.pixels(width: 32, height: 32) }
        case .thumbHash(let hash): blur(hash.averageColor, of: hash.text) { hash.pixels() }
        }
        shown = nil
        showSize()
    }

    private func blur(_ color: PixelColor, of text: String, _ make: @escaping @Sendable () -> PixelBuffer) {
        let blurred = PlaceholderTexture.of(text, make)
        drawPlaceholder(color, blurred.texture, alone: true)
        placeholder = blurred
        if blurred.texture != nil { return }
        blurred.whenReady { [weak self, weak blurred] in
            guard let self, let blurred, self.placeholder === blurred else { return }
            self.drawPlaceholder(color, blurred.texture)
        }
    }

    /// - Parameter isAlone: whether to clear everything else that was drawn.
    private func drawPlaceholder(_ color: PixelColor?, _ texture: Texture?, alone isAlone: Bool = false) {
        let set = unsafe isAlone ? inflight_paintable_reset : inflight_paintable_set_placeholder
        guard let color else { return unsafe set(canvas, nil, texture?.pointer) }
        func part(_ value: UInt8) -> Float { Float(value) / 255 }
        var drawn = GdkRGBA(
            red: part(color.red), green: part(color.green), blue: part(color.blue), alpha: part(color.alpha))
        unsafe set(canvas, &drawn, texture?.pointer)
    }

    /// Sets the fit, and the intrinsic size for layout if it is known in advance.
    private func showSize() {
        let fit =
            switch options.fit {
            case .contain: INFLIGHT_FIT_CONTAIN
            case .cover: INFLIGHT_FIT_COVER
            case .fill: INFLIGHT_FIT_FILL
            }
        unsafe inflight_paintable_set_fit(canvas, fit)
        requestSize()
        switch options.size {
        case .points(let width, let height):
            unsafe inflight_paintable_set_size(canvas, Int32(clamping: width), Int32(clamping: height))
        case .allocation: unsafe inflight_paintable_set_size(canvas, 0, 0)
        case .request: break
        }
    }

    func show(_ image: LoadedImage, fades: Bool) {
        let texture = TextureCache.texture(of: image.pixels)
        if case .request = options.size {
            unsafe inflight_paintable_set_size(canvas, Int32(texture.width), Int32(texture.height))
        }
        let appears = fades && shown == nil && options.fade > .zero && animationsAreOn
        shown = texture
        drawing.isFading = appears
        drawing.fadeBegan = nil
        unsafe inflight_paintable_set_image(canvas, texture.pointer, appears ? 0 : 1)
        drawActivity()
        if options.animates, image.info.frameCount > 1 || image.info.mayHaveMoreFrames, let asked {
            player?.stop()
            player = FramePlayer(pipeline: pipeline, request: asked) { [weak self] texture in self?.show(frame: texture)
            }
            player?.isSeen = machine.nearness == .visible
        }
    }

    func show(_ preview: ImagePreview) {
        let texture = Texture(preview.pixels)
        shown = texture
        unsafe inflight_paintable_set_image(canvas, texture.pointer, 1)
    }

    private func show(frame: Texture) {
        shown = frame
        drawing.isFading = false
        unsafe inflight_paintable_set_image(canvas, frame.pointer, 1)
    }

    func drawNothing() {
        showPlaceholder(.none)
        describe(nil)
    }

    // MARK: Failures

    func showFailure(_ error: LoadError) {
        guard let widget = unsafe widget else { return }
        let display = unsafe gtk_widget_get_display(widget)
        let icon = unsafe gtk_icon_theme_lookup_icon(
            gtk_icon_theme_get_for_display(display), options.failureIcon, nil, 48, gtk_widget_get_scale_factor(widget),
            GTK_TEXT_DIR_NONE, GtkIconLookupFlags(rawValue: 0))
        unsafe inflight_paintable_set_failure(canvas, icon)
        if let icon = unsafe icon { unsafe g_object_unref(UnsafeMutableRawPointer(icon)) }
        unsafe gtk_widget_set_tooltip_text(widget, error.message)
        drawing.hasTooltip = true
    }

    func hideFailure() {
        unsafe inflight_paintable_set_failure(canvas, nil)
        hideTooltip()
    }

    private func hideTooltip() {
        // GTK looks up the widget under the pointer at every change of a tooltip.
        guard drawing.hasTooltip, let widget = unsafe widget else { return }
        drawing.hasTooltip = false
        unsafe gtk_widget_set_tooltip_text(widget, nil)
    }

    func describe(_ description: String?) {
        guard let widget = unsafe widget else { return }
        unsafe inflight_set_description(widget, description)
    }

    // MARK: Frames

    func waitToSpin(_ number: Int) {
        after(milliseconds: options.spinnerDelay / .milliseconds(1)) { [weak self] in
            self?.spinnerDue(number)
            return false
        }
    }

    /// Updates the spinner and the fade, and requests frames while one of them moves.
    func drawActivity() {
        if !drawing.spins { unsafe inflight_paintable_set_activity(canvas, -1, -1) }
        guard drawing.spins || drawing.isFading, !drawing.isTicking, let widget = unsafe widget else { return }
        drawing.isTicking = true
        unsafe onFrames(of: widget) { time in MainLoop.counted { self.tick(at: time) } }
    }

    /// - Returns: whether more frames are needed.
    private func tick(at time: Int64) -> Bool {
        if drawing.isFading, let shown {
            let began = drawing.fadeBegan ?? time
            drawing.fadeBegan = began
            let part = Double(time - began) / max(1, options.fade / .microseconds(1))
            drawing.isFading = part < 1
            unsafe inflight_paintable_set_image(canvas, shown.pointer, min(1, part))
        }
        if drawing.spins {
            var fraction = -1.0
            if options.showsProgress, case .loading(let progress?) = loader.state {
                fraction = progress.fraction ?? -1
            }
            // One rotation takes 1.2 seconds.
            unsafe inflight_paintable_set_activity(canvas, Double(time % 1_200_000) / 1_200_000 * 360, fraction)
        }
        drawing.isTicking = drawing.isFading || drawing.spins
        return drawing.isTicking
    }

    private var animationsAreOn: Bool {
        guard let widget = unsafe widget else { return false }
        return unsafe inflight_animations_are_on(widget) != 0
    }
}
