import Inflight
import InflightCore

/// The commands for a terminal that displays images as pixels.
///
/// Source: the terminal graphics protocol of Kitty (sw.kovidgoyal.net/kitty/graphics-protocol): its sections on
/// display, on remote clients, on detecting support, and on deleting.
enum KittyGraphics {
    /// The image ID of the query and of its reply.
    static let questionID = 31

    /// Returns a query for graphics support, with an image of one pixel that is not stored, and then for the device
    /// attributes (DA1 of ECMA-48 section 8.3.24). Every terminal replies to the latter, and in order, so that
    /// the caller never waits for a missing reply.
    ///
    /// - Parameter asksCell: Whether to query the cell size, too (`CSI 16 t` of xterm).
    static func question(asksCell: Bool) -> [UInt8] {
        let cell = asksCell ? "\u{1B}[16t" : ""
        return Array("\u{1B}_Gi=\(questionID),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\(cell)\u{1B}[c".utf8)
    }

    /// The maximum number of bytes of an image in one command, as base64.
    static let chunk = 4096

    /// Returns the command that sends a PNG and displays it at the cursor, which does not move. There is no reply.
    ///
    /// - Parameters:
    ///   - id: The ID for deleting or replacing it later; if `nil`, it stays.
    ///   - cells: The size in cells, required if the cell size is unknown.
    static func picture(_ png: Bytes, id: UInt32?, cells: (columns: Int, rows: Int)?) -> [UInt8] {
        var keys = "a=T,f=100,q=2,C=1"
        if let id { keys += ",i=\(id)" }
        if let cells { keys += ",c=\(cells.columns),r=\(cells.rows)" }
        let text = Array(Base64.encoded(png.array).utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + text.count / chunk * 16 + 64)
        for start in stride(from: 0, to: max(1, text.count), by: chunk) {
            let end = min(text.count, start + chunk)
            let more = end < text.count ? 1 : 0
            // After the first command only this key is allowed.
            bytes += Array("\u{1B}_G\(start == 0 ? keys + "," : "")m=\(more);".utf8)
            bytes += text[start..<end]
            bytes += Array("\u{1B}\\".utf8)
        }
        return bytes
    }

    /// Returns the command that deletes an image from the screen and from the terminal's memory.
    static func deletion(of id: UInt32) -> [UInt8] {
        Array("\u{1B}_Ga=d,d=I,i=\(id),q=2\u{1B}\\".utf8)
    }
}
