import InflightConcurrency

/// The callback queue and the closures of one caller. Released on that queue, or in the caller's own `cancel()`.
final class CallbackSink: Sendable {
    typealias Progress = @Sendable (ImageTask, ImageTask.Progress) -> Void
    typealias Preview = @Sendable (ImageTask, ImagePreview) -> Void

    enum Completion: Sendable {
        case image(@Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void)
        case response(@Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void)
    }

    let queue: CallbackQueue
    let progress: Progress?
    let preview: Preview?
    private let completion: Completion

    init(queue: CallbackQueue, progress: Progress?, preview: Preview? = nil, completion: Completion) {
        self.queue = queue
        self.progress = progress
        self.preview = preview
        self.completion = completion
    }

    func complete(_ task: ImageTask, _ result: JobResult, isShared: Bool) {
        switch completion {
        case .image(let body): body(task, result.image(isShared: isShared))
        case .response(let body): body(task, result.response(isShared: isShared))
        }
    }
}
