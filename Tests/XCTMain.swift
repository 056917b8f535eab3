// The tests' entry point. The package manager finds it by its name, and then reads no index to find tests of XCTest, of
// which there are none.
import Testing

@main
struct AllTests {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
