import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Image loader: callback queue", .timeLimit(.minutes(10)))
struct ImageLoaderQueueTests {
    /// A view that is confined to the main actor: the test is that this compiles.
    @MainActor final class PhotoView {
        let loader: ImageLoader
        private(set) var shown: [Int?] = []
        private var onPicture: @MainActor () -> Void = {}

        init(_ pipeline: ImagePipeline) {
            loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
            loader.onChange = { [weak self] loader in
                guard let self else { return }
                show(loader.picture)
                if case .loaded = loader.state { onPicture() }
            }
        }

        func bind(_ url: String, onPicture: @escaping @MainActor () -> Void) {
            self.onPicture = onPicture
            loader.request = ImageRequest(url)
            show(loader.picture)
        }

        private func show(_ picture: PixelBuffer?) { shown.append(picture?.width) }
    }

    @Test("A loader on the main actor updates a view from its handler") @MainActor
    func main() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let view = PhotoView(stage.pipeline)
        await Bridge.wait { done in
            view.bind(Stage.url) { done.open() }
            #expect(view.shown == [nil])
        }
        #expect(view.shown.last == 4)
        view.loader.onChange = nil
    }

    @Test("A loader on a dispatch queue is used through a confined reference")
    func dispatch() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let queue = DispatchQueue(label: "app.cell")
        let loader = ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: .queue(queue)))
        let shown = await ValueBridge.value { done in
            loader.submit { loader in
                loader.onChange = { loader in
                    dispatchPrecondition(condition: .onQueue(queue))
                    if case .loaded = loader.state { done.open(with: loader.shown) }
                }
                loader.request = ImageRequest(Stage.url)
            }
        }
        #expect(shown == "loaded 4")
    }

    @Test(
        "Use of a loader off its queue traps with the name of the expected queue",
        arguments: 0..<5)
    func elsewhere(way: Int) async throws {
        let observed: ExitTest.Result?
        switch way {
        case 0:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try Self.misplaced().request = ImageRequest(Stage.url)
            }
        case 1:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try Self.misplaced().state
            }
        case 2:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try Self.misplaced().cancel()
            }
        case 3:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try Self.misplaced().onChange = nil
            }
        default:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try Self.misplaced().picture
            }
        }
        let message = String(decoding: try #require(observed).standardErrorContent, as: UTF8.self)
        #expect(
            message.contains("ImageLoader must be used on the queue “app.cell”, but was used on"), "\(message)")
    }

    private static func misplaced() throws -> ImageLoader {
        ImageLoader(pipeline: try Stage().pipeline, callbackQueue: .queue(DispatchQueue(label: "app.cell")))
    }
}
