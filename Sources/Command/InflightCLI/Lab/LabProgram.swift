import Glibc
import InflightWorker

/// The program of `inflight lab`. It is one of its own, because the experiments need all of Foundation, which would
/// make the command three times as large.
enum LabProgram {
    private static let name = "inflight-lab"

    /// Replaces this process by the lab, and returns only if that fails.
    static func start(_ invocation: LabInvocation) -> CommandLineTool.Refusal {
        let places = ProgramLocation.besideProgram(name)
        var words = unsafe ([name] + invocation.arguments(version: Version.number)).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        for place in places {
            unsafe execv(place, &words)
            let error = SystemError.last
            if error.code == ENOENT || error.code == ENOTDIR { continue }
            return CommandLineTool.Refusal(
                message: "Cannot start the lab, \(place.quoted): \(error.text). Install \(name) again.",
                status: ExitStatus.unavailable)
        }
        let searched =
            places.isEmpty ? "in an unknown folder: /proc is not mounted" : "at \(places.joined(last: " or "))"
        return CommandLineTool.Refusal(
            message: "The lab is a program of its own, and there is none \(searched). Install \(name).",
            status: ExitStatus.unavailable)
    }
}
