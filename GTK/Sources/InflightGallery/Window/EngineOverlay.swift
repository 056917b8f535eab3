import CInflightGTK
import Inflight
import InflightGTK

/// The engine's statistics in a corner, updated four times a second, and not at all while it is hidden.
@safe @MainActor
final class EngineOverlay {
    let widget: UnsafeMutablePointer<GtkWidget>
    private let label: UnsafeMutablePointer<GtkWidget>
    private let pipeline: ImagePipeline
    private var isTicking = false
    private var lastFrame: gint64 = 0

    init(pipeline: ImagePipeline) {
        self.pipeline = pipeline
        unsafe label = unsafe gtk_label_new(nil)
        unsafe gtk_label_set_xalign(OpaquePointer(label), 0)
        unsafe gtk_widget_set_margin_start(label, 8)
        unsafe gtk_widget_set_margin_end(label, 8)
        unsafe gtk_widget_set_margin_top(label, 4)
        unsafe gtk_widget_set_margin_bottom(label, 4)
        unsafe widget = unsafe gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        unsafe gtk_box_append(UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkBox.self), label)
        unsafe gtk_widget_set_halign(widget, GTK_ALIGN_END)
        unsafe gtk_widget_set_valign(widget, GTK_ALIGN_START)
        unsafe gtk_widget_add_css_class(widget, "osd")
        unsafe gtk_widget_set_margin_top(widget, 12)
        unsafe gtk_widget_set_margin_end(widget, 12)
        unsafe gtk_widget_set_can_target(widget, 0)
        unsafe gtk_widget_set_visible(widget, 0)
    }

    func toggle() {
        let isShown = unsafe gtk_widget_get_visible(widget) == 0
        unsafe gtk_widget_set_visible(widget, isShown ? 1 : 0)
        MainLoop.countsWork = isShown
        guard isShown, !isTicking else { return }
        isTicking = true
        tell()
        after(milliseconds: 250) { self.tick() }
    }

    private func tick() -> Bool {
        isTicking = unsafe gtk_widget_get_visible(widget) != 0
        if isTicking { tell() }
        return isTicking
    }

    private func tell() {
        let engine = pipeline.statistics
        let memory = pipeline.cache.statistics
        let looks = memory.hits + memory.misses
        let clock = unsafe gtk_widget_get_frame_clock(widget)
        let frame = unsafe gdk_frame_clock_get_frame_counter(clock)
        let work = MainLoop.takeWork().elapsed / .milliseconds(1) / Double(max(1, frame - lastFrame))
        lastFrame = frame
        let lines = [
            "in flight    \(engine.tasksInFlight) tasks, \(engine.jobsInFlight) jobs",
            "requested    \(engine.tasks), \(engine.coalescedTasks) coalesced",
            "sent         \(engine.exchanges)",
            "in memory    \(memory.count) pictures, \(memory.cost / 1_000_000) MB",
            "found there  \(looks == 0 ? 0 : memory.hits * 100 / looks) % of \(looks)",
            unsafe "frames       \(Int(gdk_frame_clock_get_fps(clock).rounded())) a second",
            "main thread  \((work * 100).rounded() / 100) ms of each",
        ]
        unsafe gtk_label_set_markup(OpaquePointer(label), "<tt>\(lines.joined(separator: "\n"))</tt>")
    }
}
