import Inflight
import InflightConcurrency
import InflightCore

/// Plays the frames of one animation, each at its time, at the position of the first one.
struct AnimationPlayer: Sendable {
    enum Ending: Error, Sendable {
        /// The animation has ended. Its last frame stays.
        case ended
        case failed(LoadError)
        case lost(TerminalScreen.WriteFailure)
    }

    let image: AnimatedImage
    let fit: ImageFit
    let drawing: Drawing
    /// The output for the first frame, which is displayed already.
    let form: Drawing.Form
    /// The position of the image: lines above the cursor, and columns from the left.
    let distance: Int
    let column: Int
    /// The numbers under which the terminal stores a frame and the next one.
    let ids: (UInt32, UInt32)
    let loops: AnimatedImage.Loops
    let codecs: CodecRegistry

    /// Plays the animation. It ends early if its task is cancelled.
    func play(on screen: TerminalScreen) async -> Ending {
        var (shown, shownIndex) = (form, 0)
        var (id, other) = ids
        do throws(LoadError) {
            // A slow terminal shows fewer frames, not a slower animation.
            for try await frame in image.frames(loops: loops, skipsLate: true) {
                var bytes: [UInt8] = []
                if frame.index != shownIndex {
                    let next = try drawing.form(of: frame.pixels, codecs)
                    switch (next, shown) {
                    case (.lines(let lines), .lines(let previous)):
                        bytes = GridText.frame(lines, previous: previous, up: distance, column: column)
                    case (.png(let png), _):
                        swap(&id, &other)
                        bytes = GridText.frame(
                            png, fit: fit, drawing: drawing, id: id, previousID: other, up: distance, column: column)
                    default: break
                    }
                    (shown, shownIndex) = (next, frame.index)
                }
                do throws(TerminalScreen.WriteFailure) {
                    try await screen.change(bytes)
                } catch {
                    return .lost(error)
                }
            }
            return .ended
        } catch {
            return .failed(error)
        }
    }
}
