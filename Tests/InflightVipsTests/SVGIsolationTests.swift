import Glibc
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import InflightVips
import Testing

/// Checks that an SVG document cannot load external resources. Where possible, each test also shows that the same
/// feature works with internal resources: otherwise an empty result would prove nothing.
@Suite("SVG: external resources", .timeLimit(.minutes(10)))
struct SVGIsolationTests {
    private static let red = SIMD4<UInt8>(255, 0, 0, 255)
    private static let head =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' "
        + "xmlns:xi='http://www.w3.org/2001/XInclude' width='8' height='8'>"
    private static let redSVG =
        "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'>"
        + "<rect id='r' width='8' height='8' fill='#f00'/></svg>"

    /// Writes a file that a drawing can reference while `body` runs.
    private func withFile(_ content: String, _ name: String, _ body: (String) throws -> Void) throws {
        let folder = TemporaryDirectory()
        folder.write(name, content)
        try withExtendedLifetime(folder) { try body(folder.appending(name)) }
    }

    private func middle(_ text: String) throws -> SIMD4<UInt8> {
        try decode(Array(text.utf8))[4, 4]
    }

    @Test("External images are not rendered; embedded images are")
    func images() throws {
        func image(_ address: String) -> String {
            Self.head + "<image width='8' height='8' xlink:href=\"\(address)\"/></svg>"
        }
        try withFile(Self.redSVG, "red.svg") { (path) throws in
            for address in ["file://\(path)", path, "file:///etc/passwd", "http://127.0.0.1:9/red.png"] {
                #expect(try middle(image(address)) == .zero, "\(address)")
            }
        }
        // The smallest red PNG.
        let png =
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAA"
            + "AElFTkSuQmCC"
        #expect(try middle(image(png)) == Self.red)
    }

    @Test("A drawing with an embedded image that cannot be drawn is refused, and says so")
    func refusedImage() throws {
        let avif = Base64.encoded(AVIFFixtures.plain)
        let drawing =
            Self.head + "<g><image width='8' height='8' xlink:href='data:image/avif;base64,\(avif)'/></g></svg>"
        let error = #expect(throws: LoadError.self) { try middle(drawing) }
        #expect(error?.code == .unsupportedFormat && error?.message.contains("embeds an image as avif") == true)
        // In a comment it is none.
        #expect(try middle(Self.head + "<!-- <image href='data:image/avif;base64,\(avif)'/> --></svg>") == .zero)
    }

    @Test("External style sheets are not read; embedded style sheets are")
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

    @Test("External entities are not read; internal entities are")
    func entities() throws {
        let rectangle = "<rect width='8' height='8' fill='#f00'/>"
        try withFile(rectangle, "rect.xml") { (path) throws in
            let outside = "<!DOCTYPE svg [<!ENTITY r SYSTEM 'file://\(path)'>]>" + Self.head + "&r;</svg>"
            // The document may fail as damaged, but must not be rendered.
            #expect((try? middle(outside)) ?? .zero == .zero)
            let parameter = "<!DOCTYPE svg [<!ENTITY % p SYSTEM 'file://\(path)'> %p;]>" + Self.head + "</svg>"
            #expect((try? middle(parameter)) ?? .zero == .zero)
        }
        let inside =
            "<!DOCTYPE svg [<!ENTITY c '#f00'>]>" + Self.head
            + "<rect width='8' height='8' fill='&c;'/></svg>"
        #expect(try middle(inside) == Self.red)
    }

    @Test("External use references and XInclude are not resolved; internal use references are")
    func parts() throws {
        try withFile(Self.redSVG, "red.svg") { (path) throws in
            #expect(try middle(Self.head + "<use xlink:href='file://\(path)#r'/></svg>") == .zero)
            #expect((try? middle(Self.head + "<xi:include href='file://\(path)'/></svg>")) ?? .zero == .zero)
        }
        let inside = "<defs><rect id='r' width='8' height='8' fill='#f00'/></defs><use xlink:href='#r'/></svg>"
        #expect(try middle(Self.head + inside) == Self.red)
    }

    @Test("Entity bombs, deep nesting and reference cycles fail or render nothing")
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
