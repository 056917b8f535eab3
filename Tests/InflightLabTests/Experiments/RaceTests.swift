import InflightTestSupport
import Testing

@testable import InflightLab

@Suite("Race experiment", .timeLimit(.minutes(10)))
struct RaceTests {
    @Test(
        "Every race loses additions", .enabled(if: !Sanitizer.isOn, "a race is what it is, and the sanitizer finds it"))
    func everyTime() {
        for _ in 0..<20 {
            let recorder = Recorder(tracks: ["first thread", "second thread"])
            RaceChild.run(recorder)
            #expect(recorder.recording.values["counted"] ?? .max < 2 * RaceChild.additions)
        }
    }
}
