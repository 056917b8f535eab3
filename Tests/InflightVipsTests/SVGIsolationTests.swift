import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import InflightVips
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a drawing asks for from outside of itself it does not get. Each way is shown to work with what is inside, where it
/// can: otherwise a test that sees nothing would prove nothing.
@Suite("An SVG draws what it holds and nothing else", .timeLimit(.minutes(10)))
struct SVGIsolationTests {
    private static let red = SIMD4<UInt8>(255, 0, 0, 255)
    private static let head =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' "
        + "xmlns:xi='http://www.w3.org/2001/XInclude' width='8' height='8'>"
    private static let redSVG =
        "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'>"
        + "<rect id='r' width='8' height='8' fill='#f00'/></svg>"

    /// A file on this machine that the drawing names, for the length of `body`.
    private func withFile(_ content: String, _ name: String, _ body: (String) throws -> Void) throws {
        let folder = TemporaryDirectory()
        folder.write(name, content)
        try withExtendedLifetime(folder) { try body(folder.appending(name)) }
    }

    private func middle(_ text: String) throws -> SIMD4<UInt8> {
        try decode(Array(text.utf8))[4, 4]
    }

    @Test("pictures in files and on servers are left out, those within it are drawn")
    func images() throws {
        func image(_ address: String) -> String {
            Self.head + "<image width='8' height='8' xlink:href=\"\(address)\"/></svg>"
        }
        try withFile(Self.redSVG, "red.svg") { (path) throws in
            for address in ["file://\(path)", path, "file:///etc/passwd", "http://127.0.0.1:9/red.png"] {
                #expect(try middle(image(address)) == .zero, "\(address)")
            }
        }
        // The smallest PNG that is red.
        let png =
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAA"
            + "AElFTkSuQmCC"
        #expect(try middle(image(png)) == Self.red)
    }

    @Test("style sheets in files are not read, those within it are")
    func styles() throws {
        let rectangle = "<rect width='8' height='8' fill='none'/></svg>"
        try withFile("rect { fill: #f00 !important }", "red.css") { (path) throws in
            for text in [
                "<?xml-stylesheet type='text/css' href='file://\(path)'?>" + Self.head + rectangle,
                Self.head + "<style>@import url('file://\(path)');</style>" + rectangle,
            ] {
                #expect(try middle(text) == .zero)
            }
        }
        #expect(try middle(Self.head + "<style>rect { fill: #f00 !important }</style>" + rectangle) == Self.red)
    }

    @Test("entities from files are not read, those within it are")
    func entities() throws {
        let rectangle = "<rect width='8' height='8' fill='#f00'/>"
        try withFile(rectangle, "rect.xml") { (path) throws in
            let outside = "<!DOCTYPE svg [<!ENTITY r SYSTEM 'file://\(path)'>]>" + Self.head + "&r;</svg>"
            // It may be damage, and must not be drawn.
            #expect((try? middle(outside)) ?? .zero == .zero)
            let parameter = "<!DOCTYPE svg [<!ENTITY % p SYSTEM 'file://\(path)'> %p;]>" + Self.head + "</svg>"
            #expect((try? middle(parameter)) ?? .zero == .zero)
        }
        let inside =
            "<!DOCTYPE svg [<!ENTITY c '#f00'>]>" + Self.head
            + "<rect width='8' height='8' fill='&c;'/></svg>"
        #expect(try middle(inside) == Self.red)
    }

    @Test("parts of other files are neither used nor included")
    func parts() throws {
        try withFile(Self.redSVG, "red.svg") { (path) throws in
            #expect(try middle(Self.head + "<use xlink:href='file://\(path)#r'/></svg>") == .zero)
            #expect((try? middle(Self.head + "<xi:include href='file://\(path)'/></svg>")) ?? .zero == .zero)
        }
        let inside = "<defs><rect id='r' width='8' height='8' fill='#f00'/></defs><use xlink:href='#r'/></svg>"
        #expect(try middle(Self.head + inside) == Self.red)
    }

    @Test("entities that grow without end, and elements without end, come to an end")
    func bombs() throws {
        var text = "<!DOCTYPE svg [<!ENTITY a0 'aaaaaaaaaa'>"
        for level in 1...20 { text += "<!ENTITY a\(level) '" + String(repeating: "&a\(level - 1);", count: 10) + "'>" }
        #expect((try? middle(text + "]>" + Self.head + "<text>&a20;</text></svg>")) == nil)
        let deep = String(repeating: "<g>", count: 20_000) + String(repeating: "</g>", count: 20_000)
        #expect((try? middle(Self.head + deep + "</svg>")) ?? .zero == .zero)
        let loop = "<defs><g id='a'><use xlink:href='#b'/></g><g id='b'><use xlink:href='#a'/></g></defs>"
        #expect((try? middle(Self.head + loop + "<use xlink:href='#a'/></svg>")) ?? .zero == .zero)
    }
}
