import InflightPrograms
import Testing

@testable import InflightLab

@Suite("The call of inflight-lab", .timeLimit(.minutes(10)))
struct LabInvocationTests {
    @Test("The command knows every experiment by its name, in their order")
    func names() {
        #expect(LabInvocation.names == Experiment.all.map(\.name))
    }

    @Test("The lab reads what the command writes")
    func arguments() {
        let calls = [
            LabInvocation(), LabInvocation(list: true, json: true), LabInvocation(experiments: ["race", "cells"]),
            LabInvocation(experiments: ["qos"], json: true, svg: "--list"),
        ]
        for call in calls {
            let arguments = call.arguments(version: "1.2.3")
            #expect(LabInvocation.version(in: arguments) == "1.2.3")
            #expect(LabInvocation(arguments) == call)
        }
    }

    @Test("Arguments that the command does not write are refused")
    func others() {
        #expect(LabInvocation.version(in: []) == nil && LabInvocation.version(in: ["--for"]) == nil)
        #expect(LabInvocation.version(in: ["serial", "cells"]) == nil)
        for arguments in [["--svg"], ["--other"], ["nothing"]] {
            #expect(LabInvocation(["--for", "1.2.3"] + arguments) == nil)
        }
    }
}
