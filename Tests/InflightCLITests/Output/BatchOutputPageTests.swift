import InflightBatch
import Testing

@testable import InflightCLI

@Suite("The man page of batch's output", .timeLimit(.minutes(1)))
struct BatchOutputPageTests {
    @Test("The page describes the columns that a sidecar has, in their order")
    func columns() {
        #expect(BatchOutputPage.columns.map(\.name) == SidecarSchema().standardColumns)
    }
}
