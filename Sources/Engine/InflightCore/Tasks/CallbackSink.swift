import InflightConcurrency

/// The callback queue and the closures of one caller. Its task releases them on that queue, or inside `cancel()`.
struct CallbackSink: Sendable {
    typealias Progress = @Sendable (ImageTask, ImageTask.Progress) -> Void
    typealias Preview = @Sendable (ImageTask, ImagePreview) -> Void

    enum Completion: Sendable {
        case image(@Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void)
        case response(@Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void)
    }

    let queue: CallbackQueue
    let progress: Progress?
    let preview: Preview?
    let completion: Completion

    func complete(_ task: ImageTask, _ result: JobResult, isShared: Bool) {
        switch completion {
        case .image(let body): body(task, result.image(isShared: isShared))
        case .response(let body): body(task, result.response(isShared: isShared))
        }
    }
}
