import InflightLab
import InflightTestSupport
import Testing

/// Carries out an experiment on a thread of its own, with work that takes a moment only.
func perform(_ name: String) async throws -> [Scene] {
    let experiment = try #require(Experiment.named(name))
    let stage = Stage(unit: .milliseconds(1), patience: .seconds(30))
    let outcome = await OwnThread.run { Result { () throws(LabError) in try experiment.perform(stage) } }
    return try outcome.get()
}
