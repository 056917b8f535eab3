import CInflightGTK
import Foundation
import InflightConcurrency
import InflightGTK

/// Runs checks under GTK's loop, one after the other, each with a name and its findings.
@MainActor
final class Harness {
    private var parts: [(name: String, body: @MainActor (Harness) async throws -> Void)] = []
    private var current = ""
    private var findings: [String] = []

    func part(_ name: String, _ body: @escaping @MainActor (Harness) async throws -> Void) {
        parts.append((name, body))
    }

    /// Runs the parts whose names contain one of these texts, or all if there are none. Returns the number that failed.
    func run(_ texts: [String]) async -> Int {
        var failed = 0
        for part in parts where texts.isEmpty || texts.contains(where: part.name.contains) {
            (current, findings) = (part.name, [])
            do { try await part.body(self) } catch { findings.append("threw \(error)") }
            print(findings.isEmpty ? "✔ \(part.name)" : "✘ \(part.name)")
            for finding in findings.prefix(20) { print("    \(finding)") }
            if !findings.isEmpty { failed += 1 }
            // Flush, so that redirected output shows a part as soon as it is done.
            fflush(nil)
        }
        return failed
    }

    func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { findings.append(what()) }
    }

    func note(_ text: String) { print("  \(text)") }

    /// Waits frame by frame until `holds` returns `true`. After 3,000 frames it records a finding and returns.
    func wait(for what: String, on widget: UnsafeMutablePointer<GtkWidget>, _ holds: () -> Bool) async {
        for _ in 0..<3000 {
            if holds() { return }
            unsafe await Frames.next(of: widget)
        }
        findings.append("never: \(what)")
    }
}

/// The frames that a window draws.
@MainActor
enum Frames {
    /// Waits until the next frame begins. By then the last one has been drawn completely.
    static func next(of widget: UnsafeMutablePointer<GtkWidget>) async {
        let bridge = Bridge()
        unsafe onFrames(of: widget) { _ in
            bridge.open()
            return false
        }
        unsafe gtk_widget_queue_draw(widget)
        await bridge.wait()
    }
}
