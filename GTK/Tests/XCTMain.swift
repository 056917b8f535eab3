// As in `Tests/XCTMain.swift` of the package beside this one.
import Testing

@main
struct AllTests {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
