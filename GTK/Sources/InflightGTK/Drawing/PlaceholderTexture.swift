internal import Dispatch
internal import InflightCore

/// The texture of a placeholder that has to be computed. It is made off the main thread. All users of one text share it
/// while any of them retains it.
@MainActor
final class PlaceholderTexture {
    private struct Entry {
        weak var placeholder: PlaceholderTexture?
    }

    private static var entries: [String: Entry] = [:]
    private static let queue = DispatchQueue(label: "placeholders", qos: .userInitiated)

    private(set) var texture: Texture?
    private var waiting: [@MainActor () -> Void] = []

    static func of(_ text: String, _ make: @escaping @Sendable () -> PixelBuffer) -> PlaceholderTexture {
        if let there = entries[text]?.placeholder { return there }
        if entries.count > 512 { entries = entries.filter { $0.value.placeholder != nil } }
        let placeholder = PlaceholderTexture()
        entries[text] = Entry(placeholder: placeholder)
        queue.async { [weak placeholder] in
            let texture = Texture(make())
            DispatchQueue.main.async { placeholder?.made(texture) }
        }
        return placeholder
    }

    func whenReady(_ body: @escaping @MainActor () -> Void) {
        waiting.append(body)
    }

    private func made(_ texture: Texture) {
        self.texture = texture
        let calls = waiting
        waiting = []
        for call in calls { call() }
    }
}
