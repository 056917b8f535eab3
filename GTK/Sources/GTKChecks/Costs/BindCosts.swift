import CInflightGTK
import Inflight
import InflightGTK

/// Measures the cost of a bind on the main thread. The results are printed, not judged. Runs only if requested by
/// name, in an optimised build.
@MainActor
func bindCosts(_ harness: Harness) {
    harness.part("costs of a bind") { harness in
        var configuration = ImagePipeline.Configuration()
        configuration.memoryCache.limit = 200_000_000
        let pipeline = try ImagePipeline(configuration: configuration)
        let requests = (0..<500).map { row in
            ImageRequest(source: ImageRequest.Source("row \(row)") { .image(RowImages.pixels(row)) })
        }
        let image = RemoteImage(pipeline: pipeline)
        let picture = unsafe gtk_picture_new()!
        unsafe g_object_ref_sink(picture)
        unsafe image.attach(picture: OpaquePointer(picture))
        image.options.size = .points(width: RowImages.side, height: RowImages.side)
        for request in requests { _ = try await pipeline.image(for: image.sized(request)!) }

        @MainActor func microseconds(_ count: Int, _ body: @MainActor (Int) -> Void) -> [Double] {
            (0..<count).map { number in
                ContinuousClock().measure { body(number) } / .microseconds(1)
            }.sorted()
        }
        @MainActor func tell(_ name: String, _ times: [Double]) {
            let shown = [times[times.count / 2], times[times.count * 99 / 100]].map { String(($0 * 10).rounded() / 10) }
            harness.note("\(name): median \(shown[0]) µs, p99 \(shown[1]) µs")
        }
        for _ in 0..<2 {
            tell("bind of a picture that is in memory", microseconds(20_000) { image.bind(requests[$0 % 500]) })
            harness.expect({ if case .loaded = image.state { true } else { false } }(), "it was not in memory")
            tell(
                "bind of one that is not", microseconds(20_000) { image.bind(ImageRequest("http://127.0.0.1:9/\($0)")) }
            )
            // Outside of a window a bound image counts as visible, so its load begins inside the bind.
            let free = RemoteImage(pipeline: pipeline)
            free.options.size = .points(width: RowImages.side, height: RowImages.side)
            tell(
                "the same, and the beginning of its load",
                microseconds(2000) { free.bind(ImageRequest("http://127.0.0.1:9/\($0)")) })
        }
        image.unbind()
        unsafe g_object_unref(picture)
        await pipeline.shutdown(.cancel)
    }
}
