import CInflightGTK
import Inflight
import InflightGTK
import InflightTestSupport

@MainActor
func stateParts(_ harness: Harness) {
    let (red, green, blue) = (PixelColor("#ff0000")!, PixelColor("#00ff00")!, PixelColor("#0000ff")!)

    harness.part("a placeholder is shown until the image is loaded, in the size of the widget") { harness in
        let server = try LoopbackServer()
        server.serve("/a", .ok(Plain.png(green, width: 400, height: 400), type: "image/png").held("image"))
        let pipeline = try ImagePipeline(configuration: .init())
        let one = ImageFixture(pipeline: pipeline) { $0.spinnerDelay = .zero }
        one.image.bind(ImageRequest(server.url("/a")), placeholder: .color(blue))
        unsafe await harness.wait(for: "the placeholder", on: one.window) { one.color() == blue }
        try await server.waitUntilHeld("image")
        unsafe await harness.wait(for: "the spinner", on: one.window) {
            one.color(x: 100, y: 84).map { $0 != blue } ?? false
        }
        server.release("image")
        unsafe await harness.wait(for: "the image", on: one.window) { one.color() == green }
        harness.expect(one.color(x: 100, y: 84) == green, "the spinner is still visible")
        let texture = unsafe inflight_paintable_get_image(one.image.paintable)
        let width = unsafe gdk_texture_get_width(texture)
        harness.expect(
            width == ImageFixture.side, "the image is \(width) pixels wide for a widget of \(ImageFixture.side)")
        one.close()
    }

    harness.part("a failure is reported, and retry() loads the image") { harness in
        let server = try LoopbackServer()
        server.serve("/a", inOrder: [.status(404), .ok(Plain.png(green), type: "image/png")])
        let pipeline = try ImagePipeline(configuration: .init())
        let one = ImageFixture(pipeline: pipeline)
        var changes = 0
        one.image.onChange = { _ in changes += 1 }
        one.image.bind(ImageRequest(server.url("/a")), placeholder: .color(blue))
        unsafe await harness.wait(for: "the failure", on: one.window) {
            if case .failed = one.image.state { true } else { false }
        }
        if case .failed(let error) = one.image.state { harness.expect(error.status == 404, "\(error)") }
        harness.expect(changes > 0, "onChange was not called")
        one.image.retry()
        unsafe await harness.wait(for: "the image", on: one.window) { one.color() == green }
        one.close()
    }

    harness.part("an animation moves while its widget is visible, and again after it was hidden") { harness in
        let server = try LoopbackServer()
        server.serve("/a", .ok(Plain.gif(frames: 9), type: "image/gif"))
        let pipeline = try ImagePipeline(configuration: .init())
        let one = ImageFixture(pipeline: pipeline)
        one.image.bind(ImageRequest(server.url("/a")))
        for color in [red, green, blue, red, green] {
            unsafe await harness.wait(for: "the frame of \(color)", on: one.window) { one.color() == color }
        }
        unsafe gtk_widget_set_visible(one.window, 0)
        let before = inflight_live_textures()
        harness.expect(before > 0, "there is no texture")
        unsafe gtk_widget_set_visible(one.window, 1)
        for color in [red, green, blue] {
            unsafe await harness.wait(for: "the frame of \(color), again", on: one.window) { one.color() == color }
        }
        one.close()
        await pipeline.shutdown(.cancel)
    }

    harness.part("a widget that becomes larger loads its image at the new size") { harness in
        let server = try LoopbackServer()
        server.serve("/a", .ok(Plain.png(green, width: 900, height: 900), type: "image/png"))
        let pipeline = try ImagePipeline(configuration: .init())
        let one = ImageFixture(pipeline: pipeline)
        one.image.bind(ImageRequest(server.url("/a")))
        @MainActor func width() -> Int32 {
            unsafe inflight_paintable_get_image(one.image.paintable).map { unsafe gdk_texture_get_width($0) } ?? 0
        }
        unsafe await harness.wait(for: "the image", on: one.window) { width() == 200 }
        unsafe gtk_window_set_default_size(one.window.window, 500, 500)
        unsafe await harness.wait(for: "the larger image", on: one.window) { width() == 500 }
        one.close()
    }

    harness.part("a blur is drawn until the image is loaded") { harness in
        let pipeline = try ImagePipeline(configuration: .init())
        let one = ImageFixture(pipeline: pipeline)
        let hash = try BlurHash("L6PZfSi_.AyE_3t7t7R**0o#DgR4")
        let server = try LoopbackServer()
        server.serve("/a", .ok(Plain.png(green), type: "image/png").held("image"))
        one.image.bind(ImageRequest(server.url("/a")), placeholder: .blurHash(hash))
        unsafe await harness.wait(for: "the blur", on: one.window) {
            // The average colour alone would be the same everywhere.
            guard let left = one.color(x: 10, y: 10), let right = one.color(x: 190, y: 150) else { return false }
            return left != right
        }
        server.release("image")
        unsafe await harness.wait(for: "the image", on: one.window) { one.color() == green }
        one.close()
    }
}

@MainActor
func articleParts(_ harness: Harness, program: String) {
    harness.part("the program of the article fills its window with images, writes nothing, and closes") { harness in
        let server = try LoopbackServer()
        server.serveOthers { _ in .ok(Plain.png(PixelColor("#00ff00")!), type: "image/png") }
        let article = try GalleryProgram(at: program, urls: (0..<40).map { server.url("/\($0)") }, inFile: false)
        try await article.takeFirstWindow()
        // Five columns and four rows of 128 points would fill 76 % of the window without its decoration.
        var share = 0.0
        for _ in 0..<300 where share < 0.6 && article.isRunning {
            _ = article.waitForFrame()
            share = max(share, article.share(of: (0, 255, 0)) ?? 0)
        }
        harness.expect(share > 0.6, "\(Int(share * 100)) % of its window are images")
        let (status, errors) = await article.close()
        harness.expect(status == 0, "it ended with \(status.map { "\($0)" } ?? "no status")")
        // A display without a desktop has no session bus, for which GTK prints a warning.
        let lines = errors.split(separator: "\n").filter { !$0.contains("session bus") }
        harness.expect(lines.isEmpty, "its standard error has: \(lines)")
    }
}

@MainActor
func leavingParts(_ harness: Harness) {
    harness.part("rows that have left the screen are cancelled, and visible rows are requested first") { harness in
        let server = try LoopbackServer()
        let pipeline = try ImagePipeline(configuration: .init())
        server.serveOthers { request in
            let row = Int(request.path.split(separator: "/").last ?? "") ?? 0
            let response = LoopbackServer.Response.ok(RowImages.png(row), type: "image/png")
            return row < 500 ? response.held("early") : response
        }
        let grid = RowGrid(rows: 10_000, pipeline: pipeline) {
            ImageRequest(server.url("/row/\($0)"))
        } configure: {
            $0.fade = .zero
        }
        try await server.waitUntilHeld("early", count: 6)
        let first = server.requests.prefix(6).compactMap { Int($0.path.split(separator: "/").last ?? "") }
        harness.expect(first.allSatisfy { $0 < 72 }, "rows that are not visible were requested first: \(first)")
        let firstPath = server.requests.first?.path ?? ""
        grid.position = grid.limit / 2
        // GTK 4.8 ignores the first jump after its first layout.
        unsafe await Frames.next(of: grid.window)
        grid.position += 1
        try await server.waitUntilClosedByPeer(firstPath)
        unsafe await harness.wait(for: "the images that are visible now", on: grid.window) {
            grid.look()?.isComplete ?? false
        }
        grid.close()
        await pipeline.shutdown(.cancel)
    }

    harness.part("an image bound far away is loaded only if it has a priority for that") { harness in
        let server = try LoopbackServer()
        server.serveOthers { _ in .ok(Plain.png(PixelColor("#00ff00")!), type: "image/png") }
        let pipeline = try ImagePipeline(configuration: .init())
        let window = unsafe gtk_window_new()!
        unsafe gtk_window_set_default_size(window.window, 200, 200)
        let (scrolled, column) = unsafe (gtk_scrolled_window_new()!, gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!)
        let space = unsafe gtk_label_new(nil)!
        unsafe gtk_widget_set_size_request(space, -1, 5000)
        unsafe gtk_box_append(UnsafeMutableRawPointer(column).assumingMemoryBound(to: GtkBox.self), space)
        let images = [nil, ImageRequest.Priority.veryLow].map { priority in
            let picture = unsafe gtk_picture_new()!
            let image = RemoteImage(pipeline: pipeline)
            image.options.size = .points(width: 48, height: 48)
            image.options.awayPriority = priority
            unsafe gtk_widget_set_size_request(picture, 48, 48)
            unsafe image.attach(picture: OpaquePointer(picture))
            unsafe gtk_box_append(UnsafeMutableRawPointer(column).assumingMemoryBound(to: GtkBox.self), picture)
            return image
        }
        unsafe gtk_scrolled_window_set_child(OpaquePointer(scrolled), column)
        unsafe gtk_window_set_child(window.window, scrolled)
        unsafe gtk_widget_show(window)
        images[0].bind(ImageRequest(server.url("/not")))
        images[1].bind(ImageRequest(server.url("/yes")))
        unsafe await harness.wait(for: "the image far away", on: window) {
            if case .loaded = images[1].state { true } else { false }
        }
        let waits = if case .waiting = images[0].state { true } else { false }
        harness.expect(waits, "the image without a priority is \(images[0].state)")
        harness.expect(server.requests.map(\.path) == ["/yes"], "the requests are \(server.requests.map(\.path))")
        unsafe gtk_window_destroy(window.window)
        await pipeline.shutdown(.cancel)
    }

    harness.part("pressing a button loads its failed image again") { harness in
        let server = try LoopbackServer()
        server.serve("/a", inOrder: [.status(404), .ok(Plain.png(PixelColor("#00ff00")!), type: "image/png")])
        let pipeline = try ImagePipeline(configuration: .init())
        let window = unsafe gtk_window_new()!
        let button = unsafe gtk_button_new()!
        let image = RemoteImage(pipeline: pipeline)
        image.options.size = .points(width: 48, height: 48)
        unsafe image.attach(button: UnsafeMutableRawPointer(button).assumingMemoryBound(to: GtkButton.self))
        unsafe gtk_window_set_child(window.window, button)
        unsafe gtk_widget_show(window)
        image.bind(ImageRequest(server.url("/a")), description: "A face")
        unsafe await harness.wait(for: "the failure", on: window) {
            if case .failed = image.state { true } else { false }
        }
        unsafe gtk_widget_activate(button)
        unsafe await harness.wait(for: "the image", on: window) {
            if case .loaded = image.state { true } else { false }
        }
        unsafe gtk_window_destroy(window.window)
    }
}
