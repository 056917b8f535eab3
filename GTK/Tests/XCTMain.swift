// The same as `Tests/XCTMain.swift` of the root package.
import Testing

@main
struct AllTests {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
