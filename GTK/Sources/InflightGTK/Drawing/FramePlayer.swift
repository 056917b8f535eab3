internal import InflightConcurrency
internal import InflightCore

/// An animated image whose frames are shown on time, and that pauses while it is not visible.
@MainActor
final class FramePlayer {
    /// Whether the animation plays. After a pause it continues from where it stopped.
    var isSeen = false {
        didSet {
            guard isSeen, !oldValue else { return }
            resting?.open()
            resting = nil
            begin()
        }
    }

    private let pipeline: ImagePipeline
    private let request: ImageRequest
    private let show: @MainActor (Texture) -> Void
    private var task: Task<Void, Never>?
    private var resting: Bridge?

    init(pipeline: ImagePipeline, request: ImageRequest, show: @escaping @MainActor (Texture) -> Void) {
        self.pipeline = pipeline
        self.request = request
        self.show = show
    }

    func stop() {
        task?.cancel()
        resting?.open()
        resting = nil
    }

    private func begin() {
        guard task == nil else { return }
        task = Task { [weak self, pipeline, request] in
            // The still image is shown already, and stays if it cannot be animated.
            guard let animation = try? await pipeline.animation(for: request), animation.frameCount > 1 else { return }
            do throws(LoadError) {
                for try await frame in animation.frames(skipsLate: false) {
                    guard await self?.take(frame.pixels) == true else { return }
                }
            } catch {}
        }
    }

    /// - Returns: whether to show the next frame. While the animation is not visible, the call waits.
    private func take(_ pixels: PixelBuffer) async -> Bool {
        if Task.isCancelled { return false }
        show(Texture(pixels))
        if isSeen { return true }
        let bridge = Bridge()
        resting = bridge
        await bridge.wait()
        return !Task.isCancelled
    }
}
