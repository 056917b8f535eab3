import CInflightGTK
import Inflight
import InflightGTK
import InflightTestSupport

@MainActor
func imageParts(_ harness: Harness) {
    harness.part("100,000 binds in any order leak no object") { harness in
        let server = try RowServer(slowest: 0)
        let pipeline = try ImagePipeline(configuration: .init())
        let paintables = inflight_live_paintables()
        var random = SeededGenerator(seed: 3)
        var images: [RemoteImage] = []
        var pictures: [UnsafeMutablePointer<GtkWidget>] = unsafe []
        for _ in 0..<50 {
            let image = RemoteImage(pipeline: pipeline)
            image.options.size = .points(width: 64, height: 64)
            let picture = unsafe gtk_picture_new()!
            unsafe g_object_ref_sink(picture)
            unsafe image.attach(picture: OpaquePointer(picture))
            unsafe pictures.append(picture)
            images.append(image)
        }
        for round in 0..<100_000 {
            let image = images[Int.random(in: 0..<images.count, using: &random)]
            switch Int.random(in: 0..<8, using: &random) {
            case 0: image.unbind()
            case 1: image.retry()
            case 2: image.bind(ImageRequest("http://127.0.0.1:1/\(round)"), placeholder: .color(.white))
            default: image.bind(ImageRequest(server.url("/row/\(Int.random(in: 0..<200, using: &random))")))
            }
            if round % 500 == 0 { await Task.yield() }
        }
        for image in images { image.unbind() }
        unsafe pictures.forEach { unsafe g_object_unref($0) }
        images = []
        await pipeline.shutdown(.cancel)
        pipeline.cache.removeAll()
        await harness.settle()
        harness.expect(
            inflight_live_paintables() == paintables, "\(inflight_live_paintables() - paintables) paintables are left")
        harness.expect(inflight_live_textures() == 0, "\(inflight_live_textures()) textures are left")
    }
}

extension Harness {
    /// Lets everything that is pending on the main queue finish.
    func settle() async {
        for _ in 0..<100 { await Task.yield() }
    }
}
