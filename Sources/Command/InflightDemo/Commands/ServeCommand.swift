import Glibc
import Inflight
import InflightTestSupport

/// `inflight-demo serve --list FILE`: paints the images, serves them on loopback, and lists their URLs in a file.
struct ServeCommand {
    let list: String

    /// Runs until standard input ends; a signal ends the program earlier.
    func run() throws {
        let gallery = try Gallery.painted()
        let server = try LoopbackServer()
        defer { server.stop() }
        let urls = serve(gallery, server)
        let lines = ["# For `inflight get -i`: one URL per line.", ""] + urls
        try TextFile.write(lines.joined(separator: "\n") + "\n", to: list)
        print("\(gallery.items.count) images at \(server.url("/")), \(urls.count) URLs in \(list)")
        fflush(nil)
        var byte: UInt8 = 0
        while unsafe read(0, &byte, 1) > 0 {}
    }

    /// Configures the server's responses, and returns the URLs to request, in order.
    private func serve(_ gallery: Gallery, _ server: LoopbackServer) -> [String] {
        let items = gallery.items
        for (index, item) in items.enumerated() {
            var response = LoopbackServer.Response.ok(item.bytes, type: item.format.mediaType)
            // A few responses are slow, so that there is progress to see.
            if index % 13 == 5 { response = response.dripping(max(1, item.bytes.count / 8), every: .milliseconds(90)) }
            server.serve("/\(item.name)", response)
        }
        var paths = items.map(\.name)
        // List these several times. Only one request is sent for each.
        for round in 0..<8 {
            for favourite in [2, 9, 23, 31, 47] { paths.insert(items[favourite].name, at: 12 + round * 8) }
        }
        server.serve("/old-address.jpg", .redirect(to: "/\(items[4].name)", status: 301))
        server.serve("/damaged.jpg", .ok(Self.firstHalf(of: items[11].bytes), type: "image/jpeg"))
        paths.insert("old-address.jpg", at: 20)
        paths.insert("missing.jpg", at: 40)
        paths.insert("damaged.jpg", at: 55)
        return paths.map { server.url("/" + $0) }
    }

    private static func firstHalf(of bytes: Bytes) -> Bytes {
        Bytes(Array(bytes.array.prefix(bytes.count / 2)))
    }
}
