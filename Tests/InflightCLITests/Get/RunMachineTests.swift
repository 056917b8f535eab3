import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct RunMachineTests {
    private var machine = RunMachine(mostBodies: 2)

    private mutating func end(isComplete: Bool = false) -> Int32? {
        machine.eventHandled(isComplete: isComplete) { 7 }
    }

    @Test("Lines are taken up to the limits on bodies, unreported lines and their bytes")
    mutating func limits() {
        func takes(unreported: Int = 0, bytes: Int = 0) -> Bool {
            machine.takesLine(unreported: unreported, bytes: bytes)
        }
        #expect(takes(unreported: RunMachine.mostUnreported - 1, bytes: RunMachine.mostUnreportedBytes - 1))
        #expect(!takes(unreported: RunMachine.mostUnreported))
        #expect(!takes(bytes: RunMachine.mostUnreportedBytes))
        machine.bodyBegan()
        #expect(takes())
        machine.bodyBegan()
        #expect(!takes())
        machine.bodyEnded()
        #expect(takes())
    }

    @Test("A complete run ends once, with its own status, after the last job")
    mutating func complete() {
        #expect(end() == nil)
        machine.jobBegan()
        #expect(end(isComplete: true) == nil)
        machine.jobEnded()
        #expect(end(isComplete: true) == 7)
        #expect(end(isComplete: true) == nil)
        let isStopped = machine.stopped(status: 130)
        #expect(!isStopped)
    }

    @Test("A stopped run takes no lines, and ends with the status of the first reason after the last job")
    mutating func stopped() {
        machine.jobBegan()
        let reasons = [machine.stopped(status: 130), machine.stopped(status: 141)]
        #expect(reasons == [true, false])
        #expect(!machine.isRunning)
        #expect(!machine.takesLine(unreported: 0, bytes: 0))
        #expect(end(isComplete: true) == nil)
        machine.jobEnded()
        #expect(end() == 130)
        #expect(machine.state == .ended)
    }
}
