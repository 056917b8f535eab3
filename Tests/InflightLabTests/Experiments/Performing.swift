import InflightLab
import InflightTestSupport
import Testing

/// Performs an experiment on a separate thread, with work that takes only a moment.
func perform(_ name: String) async throws -> [Scene] {
    let experiment = try #require(Experiment.named(name))
    let stage = Stage(unit: .milliseconds(1), timeout: .seconds(30))
    let outcome = await DedicatedThread.run { Result { () throws(LabError) in try experiment.perform(stage) } }
    return try outcome.get()
}
