import InflightTestSupport
import Testing

@testable import InflightLab

@Suite("The race experiment", .timeLimit(.minutes(10)))
struct RaceTests {
    @Test(
        "loses additions every time", .enabled(if: !Sanitizer.isOn, "a race is what it is, and the sanitizer finds it"))
    func everyTime() {
        for _ in 0..<20 {
            let recorder = Recorder(tracks: ["first thread", "second thread"])
            RaceChild.run(recorder)
            #expect(recorder.recording.values["counted"] ?? .max < 2 * RaceChild.additions)
        }
    }
}
